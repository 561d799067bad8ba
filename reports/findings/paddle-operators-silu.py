# A finding of refgrad: operators/silu, wrong first derivative.
# The gradient of `silu(a)` with respect to `a` at a = -800.0 is 0; paddle 3.3.1 gives nan.
# Violated (MUST): silu: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(-800.0), stop_gradient=False)
b = F.silu(a)
b.backward()
got = float(a.grad)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
