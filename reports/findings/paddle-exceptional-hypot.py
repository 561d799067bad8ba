# A finding of refgrad: exceptional/hypot, wrong value.
# `hypot(x1, x2)` in entry [0, 1] is 1.79769e+308; paddle 3.3.1 gives inf.
# Violated (MUST): hypot: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[0.068, 1.7976931348623157e+308, 1.703], [-1.18, -0.14, 0.5]]), stop_gradient=False)
x2 = paddle.to_tensor(np.array([[4.022, -1.899, 2.299], [3.989, 1.84, -0.279]]), stop_gradient=False)
a1 = paddle.hypot(x1, x2)
a1.backward(paddle.to_tensor(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]])))
got = float(a1[0, 1])
assert math.isclose(got, 1.7976931348623157e+308, rel_tol=1e-06), f"the value of a1 at [0, 1] is {got}, but it should be 1.7976931348623157e+308"
