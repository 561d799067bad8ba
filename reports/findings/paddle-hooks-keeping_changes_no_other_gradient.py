# A finding of refgrad: hooks/keeping_changes_no_other_gradient, wrong first derivative.
# At the end of the program, the gradient of `y`, added up over 2 backwards, is 3; paddle 3.3.1 gives 1.5.
# Violated (MUST): That a tensor keeps its gradient changes no other gradient, and makes no leaf of it; of a leaf it
# changes nothing.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x = paddle.to_tensor(np.array(1.5), stop_gradient=False)
x.retain_grads()
y = paddle.exp(x)
y.retain_grads()
l = paddle.mul(y, x)
l.backward(retain_graph=True)
l.backward()
got = float(y.grad)
assert math.isclose(got, 3.0, rel_tol=0.001), f"the gradient of y is {got}, but it should be 3.0"
