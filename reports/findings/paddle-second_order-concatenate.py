# A finding of refgrad: second_order/concatenate, wrong error.
# `d/da [multiply(concatenate(a, b), d)]` has a gradient at a = [1.0], b = [1.0], d = 1.0; paddle 3.3.1 raises
# SystemError: (Fatal) Unable to fill empty grad inputs due to empty GradSlotMeta (at
# /paddle/paddle/fluid/eager/utils.cc:650) .
# Violated (MUST): concatenate: its gradient can be differentiated, and the second derivatives are right.
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


a = paddle.to_tensor(np.array([1.0]), stop_gradient=False)
b = paddle.to_tensor(np.array([1.0]), stop_gradient=True)
c = paddle.concat([a, b], axis=0)
d = paddle.to_tensor(np.array(1.0), stop_gradient=False)
e = paddle.mul(c, d)
f = gradient_of(e, a, paddle.to_tensor(np.array([1.0, 1.0])))
f.backward(paddle.to_tensor(np.array([1.0])))
