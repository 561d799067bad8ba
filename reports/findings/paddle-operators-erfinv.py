# A finding of refgrad: operators/erfinv, wrong value.
# `erfinv(a)` at a = -1e-160 is -8.86227e-161; paddle 3.3.1 gives 0.
# Violated (MUST): erfinv: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(-1e-160), stop_gradient=False)
b = paddle.erfinv(a)
b.backward()
got = float(b)
assert math.isclose(got, -8.86226925452758e-161, rel_tol=0.001), f"the value of b is {got}, but it should be -8.86226925452758e-161"
