# A finding of refgrad: contracts/logaddexp, wrong first derivative.
# At the end of the program, the gradient of `a`, added up over 2 backwards, in entry [1, 1] is 0; paddle 3.3.1 gives
# 2.77776e-308.
# Violated (MUST): logaddexp: its backward leaves operands and seeds as they are, gives the same when it is walked
# again, and no two gradients share memory.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array([[1.0, 1.0], [1.0, 1.0]]), stop_gradient=False)
b = paddle.to_tensor(np.array(800.0), stop_gradient=True)
c = paddle.logaddexp(a, b)
c.backward(paddle.to_tensor(np.array([[1.0, 1.0], [1.0, 1.0]])), retain_graph=True)
c.backward(paddle.to_tensor(np.array([[1.0, 1.0], [1.0, 4.0]])))
got = float(a.grad[1, 1])
assert abs(got) < 1e-311, f"the gradient of a at [1, 1] is {got}, but it should be 0.0"
