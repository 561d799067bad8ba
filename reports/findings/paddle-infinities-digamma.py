# A finding of refgrad: infinities/digamma, wrong first derivative.
# The gradient of `digamma(x1)` with respect to `x1` in entry [0, 1] is 0; paddle 3.3.1 gives nan.
# Violated (SHOULD): digamma: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[1.583, np.inf, 2.373], [0.979, 1.482, 1.792]]), stop_gradient=False)
a1 = paddle.digamma(x1)
a1.backward(paddle.to_tensor(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]])))
got = float(x1.grad[0, 1])
assert abs(got) < 1e-12, f"the gradient of x1 at [0, 1] is {got}, but it should be 0.0"
