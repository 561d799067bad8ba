# A finding of refgrad: second_order/swapaxes, crash or hang.
# paddle 3.3.1: the process was ended by signal 11 (SIGSEGV).
# Violated (MUST): swapaxes: its gradient can be differentiated, and the second derivatives are right.
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


x1 = paddle.to_tensor(np.array([-1e-09]), stop_gradient=False)
a1 = paddle.swapaxes(x1, 0, 0)
h = gradient_of(a1, x1, paddle.to_tensor(np.array([1.0])))
h.backward(paddle.to_tensor(np.array([0.237])))
