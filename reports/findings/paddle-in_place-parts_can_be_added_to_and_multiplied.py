# A finding of refgrad: in_place/parts_can_be_added_to_and_multiplied, wrong error.
# At the end of the program, `sin(multiply(x, c))` has a gradient; paddle 3.3.1 raises RuntimeError:
# (PermissionDenied) Tensor '' used in gradient computation has been modified by an inplace operation. Its version is
# 1 but the expected version is 0. Please fix your code to void calling an inplace operator after using the Tensor
# which will used in gradient computation. [Hint: Expected tensor_version == wrapper_version_snapshot, but received
# tensor_version:1 != wrapper_version_snapshot:0.] (at /paddle/paddle/fluid/eager/tensor_wrapper.h:268) .
# Violated (MUST): A write to a part changes and differentiates this part alone.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
x = paddle.to_tensor(np.array([1.5, -0.5, 2.5]), stop_gradient=False)
c = paddle.to_tensor(np.array(3.0), stop_gradient=True)
d = paddle.to_tensor(np.array([-2.5, 1.75]), stop_gradient=True)
y = paddle.multiply(x, c)
y[slice(0, 3, 2)] = y[slice(0, 3, 2),] * d
l = paddle.sin(y)
l.backward(paddle.to_tensor(np.array([1.0, -1.5, 2.0])))
