# A finding of refgrad: operators/sigmoid, inaccurate.
# The gradient of `sigmoid(a)` with respect to `a` at a = -5.7 is 0.003323686367635767; dezero 0.0.13 gives
# 0.003323686367635735.
# Violated (SHOULD): sigmoid: value and gradient are right, for any shape, attribute and seed.
# Found on dezero 0.0.13, Python 3.11.7, Linux x86_64.

import math
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


a = leaf(np.array(-5.7), True)
b = F.sigmoid(a)
backward(b, None)
got = float(read(a))
assert math.isclose(got, 0.003323686367635767, rel_tol=4e-15), f"the gradient of a is {got}, but it should be 0.003323686367635767"
