# A finding of refgrad: operators/solve, crash or hang.
# paddle 3.3.1: the process was ended by signal 11 (SIGSEGV).
# Violated (MUST): solve: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[1.548]]), stop_gradient=False)
x2 = paddle.to_tensor(np.array([[1.104]]), stop_gradient=True)
a1 = paddle.linalg.solve(x1, x2)
a1.backward(paddle.to_tensor(np.array([[1.0]])))
