# A finding of refgrad: operators/matmul, other rule broken.
# The gradient of `matmul(a, b)` with respect to `b` has the shape (1, 1); dezero 0.0.13 gives ().
# Violated (MUST): matmul: value and gradient are right, for any shape, attribute and seed.
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


def read(x):
    return x.grad.data if getattr(x, "wanted", True) and x.grad is not None else None


a = leaf(np.array([1.0]), False)
b = leaf(np.array([[1.0]]), True)
c = F.matmul(a, b)
backward(c, dezero.Variable(np.array([1.0])))
got = tuple(read(b).shape)
assert got == (1, 1), f"the gradient of b has the shape {got}, but it should be (1, 1)"
