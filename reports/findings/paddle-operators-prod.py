# A finding of refgrad: operators/prod, missing.
# The gradient of `prod(a)` with respect to `a` at a = 0.0 is 1; paddle 3.3.1 gives nan.
# Violated (MUST): prod: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(0.0), stop_gradient=False)
b = paddle.prod(a)
b.backward()
got = float(a.grad)
assert math.isclose(got, 1.0, rel_tol=1e-06), f"the gradient of a is {got}, but it should be 1.0"
