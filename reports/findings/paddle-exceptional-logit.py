# A finding of refgrad: exceptional/logit, wrong value.
# `logit(x1)` in entry [0, 1] is -709.09; paddle 3.3.1 gives -708.396.
# Violated (MUST): logit: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[0.51, 1.1125369292536007e-308, 0.756], [0.323, 0.479, 0.575]]), stop_gradient=False)
a1 = paddle.logit(x1)
a1.backward(paddle.to_tensor(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]])))
got = float(a1[0, 1])
assert math.isclose(got, -709.0895657128241, rel_tol=1e-06), f"the value of a1 at [0, 1] is {got}, but it should be -709.0895657128241"
