# A finding of refgrad: leaves/leaves_can_be_frozen_after_the_forward, wrong first derivative.
# At the end of the program, paddle 3.3.1: w got the gradient -1.230839036009341, but nothing was sent to it.
# Violated (SHOULD): A leaf that was frozen after the forward receives nothing from the backward.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x = paddle.to_tensor(np.array(1.5), stop_gradient=False)
w = paddle.to_tensor(np.array(-2.5), stop_gradient=False)
a = paddle.multiply(x, w)
l = paddle.sin(a)
w.stop_gradient = True
l.backward()
got = w.grad
assert got is None or not np.any(np.asarray(got)), f"w has the gradient {got}, but nothing was sent to it"
