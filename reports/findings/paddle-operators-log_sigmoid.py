# A finding of refgrad: operators/log_sigmoid, inaccurate.
# `log_sigmoid(a)` at a = 5.0 is -0.006715348489118068; paddle 3.3.1 gives -0.006715348489117967.
# Violated (SHOULD): log_sigmoid: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array(5.0), stop_gradient=False)
b = F.log_sigmoid(a)
b.backward()
got = float(b)
assert math.isclose(got, -0.006715348489118068, rel_tol=1e-15), f"the value of b is {got}, but it should be -0.006715348489118068"
