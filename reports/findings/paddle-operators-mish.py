# A finding of refgrad: operators/mish, inaccurate.
# The gradient of `mish(a)` with respect to `a` at a = -6.0 is -0.01235996793178131; paddle 3.3.1 gives
# -0.012359967931780697.
# Violated (SHOULD): mish: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(-6.0), stop_gradient=False)
b = F.mish(a)
b.backward()
got = float(a.grad)
assert math.isclose(got, -0.01235996793178131, rel_tol=1e-14), f"the gradient of a is {got}, but it should be -0.01235996793178131"
