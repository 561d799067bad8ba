# A finding of refgrad: hooks/hooks_run_for_returned_gradients, other rule broken.
# At the end of the program, paddle 3.3.1: i saw 0 gradients, but there were 1.
# Violated (SHOULD): Hooks are called as well where a gradient is returned rather than added to the leaves.
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


x = paddle.to_tensor(np.array(1.5), stop_gradient=False)
y = paddle.exp(x)
l = paddle.mul(y, y)
seen_by_h = []
h = y.register_hook(lambda gradient: seen_by_h.append(np.array(gradient.numpy())))
seen_by_i = []
i = x.register_hook(lambda gradient: seen_by_i.append(np.array(gradient.numpy())))
g = gradient_of(l, x, None)
got = len(seen_by_i)
assert got == 1, f"i saw {got} gradients, but there were 1"
