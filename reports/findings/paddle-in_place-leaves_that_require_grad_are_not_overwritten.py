# A finding of refgrad: in_place/leaves_that_require_grad_are_not_overwritten, wrong value.
# At the end of the program, the value of x is 1.5; paddle 3.3.1 gives 4.5.
# Violated (MUST): A recorded write to a leaf that requires grad is refused, and nothing has changed then.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x = paddle.to_tensor(np.array(1.5), stop_gradient=False)
c = paddle.to_tensor(np.array(3.0), stop_gradient=True)
try:
    x.add_(c)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
print(x.numpy())  # value of x
print(x.is_leaf)  # is_leaf of x
a = paddle.exp(x)
a.backward()
print(None if x.grad is None else x.grad.numpy())  # gradient of x
