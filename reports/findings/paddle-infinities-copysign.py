# A finding of refgrad: infinities/copysign, wrong first derivative.
# The gradient of `copysign(x1, x2)` with respect to `x1` in entry [0, 1] is -2.8; paddle 3.3.1 gives nan.
# Violated (SHOULD): copysign: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[0.068, np.inf, 1.703], [-1.18, -0.14, 0.5]]), stop_gradient=False)
x2 = paddle.to_tensor(np.array([[4.022, -1.899, 2.299], [3.989, 1.84, -0.279]]), stop_gradient=False)
a1 = paddle.copysign(x1, x2)
a1.backward(paddle.to_tensor(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]])))
got = float(x1.grad[0, 1])
assert math.isclose(got, -2.8, rel_tol=1e-06), f"the gradient of x1 at [0, 1] is {got}, but it should be -2.8"
