# A finding of refgrad: infinities/log_sigmoid, wrong first derivative.
# The gradient of `log_sigmoid(x1)` with respect to `x1` in entry [0, 1] is 0.71; paddle 3.3.1 gives nan.
# Violated (SHOULD): log_sigmoid: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]), stop_gradient=False)
a1 = F.log_sigmoid(x1)
a1.backward(paddle.to_tensor(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]])))
got = float(x1.grad[0, 1])
assert math.isclose(got, 0.71, rel_tol=1e-06), f"the gradient of x1 at [0, 1] is {got}, but it should be 0.71"
