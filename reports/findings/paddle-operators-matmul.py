# A finding of refgrad: operators/matmul, wrong error.
# `matmul(a, b)` has a gradient; paddle 3.3.1 raises ValueError: (InvalidArgument) Input dimension size should be
# equal to 2, but received dimension size is 3. [Hint: Expected arity(dims) == D, but received arity(dims):2 != D:3.]
# (at /paddle/paddle/phi/kernels/funcs/eigen/common.h:31) .
# Violated (MUST): matmul: value and gradient are right, for any shape, attribute and seed.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")
a = paddle.to_tensor(np.array([[[[1.0, 1.0]]], [[[1.0, 1.0]]]]), stop_gradient=True)
b = paddle.to_tensor(np.array([[[1.0], [1.0]]]), stop_gradient=False)
c = paddle.matmul(a, b)
c.backward(paddle.to_tensor(np.array([[[[1.0]]], [[[1.0]]]])))
