# A finding of refgrad: hooks/keeping_moves_to_the_new_value, wrong first derivative.
# At the end of the program, the gradient of `sin(multiply(x, c))` with respect to `y` is 0.594921; paddle 3.3.1 gives
# 1.78476.
# Violated (MAY): A tensor that keeps its gradient and is then overwritten in place keeps that of its new value.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x = paddle.to_tensor(np.array(1.5), stop_gradient=False)
c = paddle.to_tensor(np.array(3.0), stop_gradient=True)
y = paddle.multiply(x, c)
y.retain_grads()
y.multiply_(c)
l = paddle.sin(y)
l.backward()
got = float(y.grad)
assert math.isclose(got, 0.594920663309892, rel_tol=0.001), f"the gradient of y is {got}, but it should be 0.594920663309892"
