# A finding of refgrad: operators/gelu, inaccurate.
# The gradient of `gelu(a)` with respect to `a` at a = -5.0 is -7.146946001792295e-06; paddle 3.3.1 gives
# -7.1469460018034646e-06.
# Violated (SHOULD): gelu: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(-5.0), stop_gradient=False)
b = F.gelu(a)
b.backward()
got = float(a.grad)
assert math.isclose(got, -7.146946001792295e-06, rel_tol=1e-13), f"the gradient of a is {got}, but it should be -7.146946001792295e-06"
