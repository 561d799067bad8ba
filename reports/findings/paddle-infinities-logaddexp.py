# A finding of refgrad: infinities/logaddexp, wrong first derivative.
# The gradient of `logaddexp(x1, x2)` with respect to `x2` in entry [0, 1] is 0; paddle 3.3.1 gives nan.
# Violated (SHOULD): logaddexp: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[0.068, np.inf, 1.703], [-1.18, -0.14, 0.5]]), stop_gradient=False)
x2 = paddle.to_tensor(np.array([[4.826, -2.278, 2.758], [4.786, 2.208, -0.334]]), stop_gradient=False)
a1 = paddle.logaddexp(x1, x2)
a1.backward(paddle.to_tensor(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]])))
got = float(x2.grad[0, 1])
assert abs(got) < 1e-12, f"the gradient of x2 at [0, 1] is {got}, but it should be 0.0"
