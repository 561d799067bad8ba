# A finding of refgrad: operators/softmax, wrong first derivative.
# The gradient of `softmax(a)` with respect to `a` at a = [1.0, -800.0] in entry [1] is 0; paddle 3.3.1 gives
# 1.60381e-28.
# Violated (MUST): softmax: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array([1.0, -800.0]), stop_gradient=False)
b = F.softmax(a, axis=-1)
b.backward(paddle.to_tensor(np.array([1.0, 2.0])))
got = float(a.grad[1])
assert abs(got) < 1e-31, f"the gradient of a at [1] is {got}, but it should be 0.0"
