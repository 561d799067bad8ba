# A finding of refgrad: operators/det, wrong first derivative.
# The gradient of `det(a)` with respect to `a` in entry [0, 0] is 1; paddle 3.3.1 gives 0.
# Violated (MUST): det: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array([[1.0, 1.0], [1.0, 1.0]]), stop_gradient=False)
b = paddle.linalg.det(a)
b.backward()
got = float(a.grad[0, 0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of a at [0, 0] is {got}, but it should be 1.0"
