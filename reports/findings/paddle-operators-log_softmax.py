# A finding of refgrad: operators/log_softmax, wrong value.
# `log_softmax(a)` at a = [1.0, -800.0] in entry [1] is -801; paddle 3.3.1 gives -64.
# Violated (MUST): log_softmax: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
a = paddle.to_tensor(np.array([1.0, -800.0]), stop_gradient=False)
b = F.log_softmax(a, axis=-1)
b.backward(paddle.to_tensor(np.array([1.0, 1.0])))
got = float(b[1])
assert math.isclose(got, -801.0, rel_tol=0.001), f"the value of b at [1] is {got}, but it should be -801.0"
