# A finding of refgrad: operators/elu, inaccurate.
# The gradient of `elu(a, alpha=0.664)` with respect to `a` at a = -1.0 is 0.2442719489378377; paddle 3.3.1 gives
# 0.24427193964065258.
# Violated (SHOULD): elu: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(-1.0), stop_gradient=False)
b = F.elu(a, 0.664)
b.backward()
got = float(a.grad)
assert math.isclose(got, 0.2442719489378377, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.2442719489378377"
