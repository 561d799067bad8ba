# A finding of refgrad: operators/embedding, wrong error.
# `embedding(a, indices=())` has a gradient at a = []; chainer 7.8.1 raises ValueError: cannot reshape array of size 0
# into shape (0,newaxis).
# Violated (MUST): embedding: value and gradient are right, for any shape, attribute and seed.
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


a = chainer.Variable(np.zeros((0, 2)), requires_grad=True)
b = F.embed_id(np.array(np.array(()) % a.shape[0], dtype=np.int32), a)
backward(b, np.zeros((0, 2)))
