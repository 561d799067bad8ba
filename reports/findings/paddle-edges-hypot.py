# A finding of refgrad: edges/hypot, missing.
# The gradient of `hypot(a, a)` with respect to `a` at a = 0.0 is between -2 and 2; paddle 3.3.1 gives nan.
# Violated (MUST): hypot: at its edges the gradient is an element of the subdifferential.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(0.0), stop_gradient=False)
b = paddle.hypot(a, a)
b.backward()
got = float(a.grad)
assert -2.0 <= got <= 2.0, f"the gradient of a is {got}, but it should be between -2.0 and 2.0"
