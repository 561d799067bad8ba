# A finding of refgrad: operators/floor_divide, missing.
# There is a gradient of `floor_divide(a, b)` with respect to `a`; paddle 3.3.1 gives none.
# Violated (MUST): floor_divide: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(1.0), stop_gradient=False)
b = paddle.to_tensor(np.array(2.0), stop_gradient=True)
c = paddle.floor_divide(a, b)
c.backward()
got = a.grad
assert got is not None, "the gradient of a is missing"
