# A finding of refgrad: hooks/what_is_kept_is_what_hooks_leave, wrong first derivative.
# At the end of the program, the gradient of `sin(exp(x))` with respect to `y` is -0.457318; paddle 3.3.1 gives
# -0.228659.
# Violated (SHOULD): The gradient that a computed tensor keeps is the one that its hooks leave, whichever came first.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x = paddle.to_tensor(np.array(1.5), stop_gradient=False)
y = paddle.exp(x)
y.retain_grads()
seen_by_h = []
h = y.register_hook(lambda gradient: seen_by_h.append(np.array(gradient.numpy())) or gradient * 2.0)
l = paddle.sin(y)
l.backward()
got = float(y.grad)
assert math.isclose(got, -0.4573178930626745, rel_tol=0.001), f"the gradient of y is {got}, but it should be -0.4573178930626745"
