# A finding of refgrad: operators/expand_dims, other rule broken.
# `expand_dims(a, axis=-2)` has the shape (2, 1, 1); dezero 0.0.13 gives (1, 2, 1).
# Violated (MUST): expand_dims: value and gradient are right, for any shape, attribute and seed.
# Found on dezero 0.0.13, Python 3.11.7, Linux x86_64.

import numpy as np

np.int = int
import dezero
import dezero.functions as F


def leaf(array, wanted):
    found = dezero.Variable(array)
    found.wanted = wanted
    return found


def backward(output, seed, **more):
    if output.creator is None:
        raise NotImplementedError("a backward from a leaf")
    if seed is not None:
        output.grad = seed
    output.backward(**more)


a = leaf(np.array([[1.0], [1.0]]), True)
b = F.expand_dims(a, -2)
backward(b, dezero.Variable(np.array([[[1.0]], [[1.0]]])))
got = tuple(b.data.shape)
assert got == (2, 1, 1), f"the value of b has the shape {got}, but it should be (2, 1, 1)"
