# A finding of refgrad: lifecycles/random, other rule broken.
# `is_leaf` of `b` is False; paddle 3.3.1 says True.
# Violated (MUST): Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step
# shows what it must, and fails where it must.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array([1.0]), stop_gradient=False)
b = paddle.reshape(a, (1,))
got = b.is_leaf
assert got is False, f"is_leaf of b is {got}, but it should be False"
