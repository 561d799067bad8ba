# A finding of refgrad: operators/lgamma, inaccurate.
# The gradient of `lgamma(a)` with respect to `a` at a = 8.0 is 2.01564147795561; paddle 3.3.1 gives
# 2.015641477955539.
# Violated (SHOULD): lgamma: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(8.0), stop_gradient=False)
b = paddle.gammaln(a)
b.backward()
got = float(a.grad)
assert math.isclose(got, 2.01564147795561, rel_tol=1e-14), f"the gradient of a is {got}, but it should be 2.01564147795561"
