# A finding of refgrad: third_order/hypot, wrong error.
# `the output` has a gradient at a = 1.0, b = 1.0; paddle 3.3.1 raises RuntimeError: (NotFound) The output DenseTensor
# DX can not be nullptr [Hint: dx should not be null.] (at /paddle/paddle/phi/kernels/impl/activation_grad_impl.h:331)
# .
# Violated (SHOULD): hypot: its second derivatives can be differentiated, and the third ones are right.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")


def gradient_of(output, leaf, seed):
    try:
        return paddle.grad([output], [leaf], None if seed is None else [seed], create_graph=True)[0]
    except RuntimeError as error:
        if "doesn't have any grad op" in str(error):
            raise NotImplementedError(str(error)) from error
        raise


a = paddle.to_tensor(np.array(1.0), stop_gradient=False)
b = paddle.to_tensor(np.array(1.0), stop_gradient=False)
c = paddle.hypot(a, b)
d = gradient_of(c, a, None)
e = gradient_of(d, b, None)
e.backward()
