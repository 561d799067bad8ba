# A finding of refgrad: operators/min, wrong error.
# `min(a, axis=(-1,))` has a gradient at a = [1.0, 2.0]; dezero 0.0.13 raises ValueError: cannot reshape array of size
# 1 into shape (2,).
# Violated (MUST): min: value and gradient are right, for any shape, attribute and seed.
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


a = leaf(np.array([1.0, 2.0]), True)
b = F.min(a, axis=(-1,))
backward(b, None)
