# A finding of refgrad: operators/repeat, wrong error.
# `repeat(a, axis=0, repeats=1)` has a gradient at a = [[], []]; chainer 7.8.1 raises ValueError: cannot reshape array
# of size 0 into shape (1,0).
# Violated (MUST): repeat: value and gradient are right, for any shape, attribute and seed.
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


a = chainer.Variable(np.zeros((2, 0)), requires_grad=True)
b = F.repeat(a, 1, 0)
backward(b, np.zeros((2, 0)))
