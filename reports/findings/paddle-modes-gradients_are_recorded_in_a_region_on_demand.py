# A finding of refgrad: modes/gradients_are_recorded_in_a_region_on_demand, missing.
# At the end of the program, there is a gradient of `d/dx [exp(x)]` with respect to `x`; paddle 3.3.1 gives none.
# Violated (SHOULD): A gradient that is asked for with its graph is recorded in a no_grad region, too.
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
l = paddle.exp(x)
with paddle.no_grad():
    h = gradient_of(l, x, None)
h.backward()
got = x.grad
assert got is not None, "the gradient of x is missing"
