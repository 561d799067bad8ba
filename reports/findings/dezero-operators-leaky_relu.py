# A finding of refgrad: operators/leaky_relu, wrong error.
# `leaky_relu(a)` has a gradient at a = 1.0; dezero 0.0.13 raises TypeError: 'numpy.float64' object does not support
# item assignment.
# Violated (MUST): leaky_relu: value and gradient are right, for any shape, attribute and seed.
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


a = leaf(np.array(1.0), True)
b = F.leaky_relu(a, 0.01)
backward(b, None)
