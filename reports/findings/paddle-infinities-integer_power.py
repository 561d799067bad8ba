# A finding of refgrad: infinities/integer_power, wrong value.
# `integer_power(x1, n=3)` in entry [0, 1] is -inf; paddle 3.3.1 gives inf.
# Violated (SHOULD): integer_power: where an operand is infinite, value and gradient are their limits, if formulas
# reach them.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x1 = paddle.to_tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]), stop_gradient=False)
a1 = paddle.pow(x1, 3)
a1.backward(paddle.to_tensor(np.array([[0.71, -1.497, 2.459], [2.897, 1.862, 2.413]])))
got = float(a1[0, 1])
assert got == float("-inf"), f"the value of a1 at [0, 1] is {got}, but it should be -inf"
