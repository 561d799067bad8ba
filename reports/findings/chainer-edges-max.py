# A finding of refgrad: edges/max, wrong first derivative.
# Moving `a` by [1, 1] changes `max(a)` by 1; according to the gradient that chainer 7.8.1 gives, by 2.
# Violated (MUST): max: at its edges the gradient is an element of the subdifferential.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import numpy as np
import chainer
import chainer.functions as F


def backward(output, seed):
    if output.creator is None:
        raise NotImplementedError("a backward from what was not computed")
    if seed is not None:
        output.grad = seed
    output.backward()


a = chainer.Variable(np.array([1.0, 1.0]), requires_grad=True)
b = F.max(a)
backward(b, None)
got = float(np.vdot(np.asarray(a.grad), np.array([1.0, 1.0])))
assert abs(got - 1.0) < 1e-6, f"moving a by [1.0, 1.0] changes the output by 1.0, but by {got} according to the gradient"
