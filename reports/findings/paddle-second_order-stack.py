# A finding of refgrad: second_order/stack, wrong error.
# `d/db [multiply(stack(a, b), b)]` has a gradient at a = 1.0, b = 1.0; paddle 3.3.1 raises SystemError: (Fatal)
# Unable to fill empty grad inputs due to empty GradSlotMeta (at /paddle/paddle/fluid/eager/utils.cc:650) .
# Violated (MUST): stack: its gradient can be differentiated, and the second derivatives are right.
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


a = paddle.to_tensor(np.array(1.0), stop_gradient=True)
b = paddle.to_tensor(np.array(1.0), stop_gradient=False)
c = paddle.stack([a, b], axis=0)
d = paddle.mul(c, b)
e = gradient_of(d, b, paddle.to_tensor(np.array([1.0, 1.0])))
e.backward()
