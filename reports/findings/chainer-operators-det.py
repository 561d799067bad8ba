# A finding of refgrad: operators/det, wrong error.
# `det(a)` has a gradient; chainer 7.8.1 raises ValueError: Input has singular matrices.
# Violated (MUST): det: value and gradient are right, for any shape, attribute and seed.
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


a = chainer.Variable(np.array([[1.0, 1.0], [1.0, 1.0]]), requires_grad=True)
b = F.batch_det(a) if a.ndim == 3 else F.det(a)
backward(b, None)
