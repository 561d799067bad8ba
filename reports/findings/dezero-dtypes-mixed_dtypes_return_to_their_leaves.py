# A finding of refgrad: dtypes/mixed_dtypes_return_to_their_leaves, other rule broken.
# The gradient of `multiply(x, y)` with respect to `x` of float32 and float64 is of float32; dezero 0.0.13 gives
# float64.
# Violated (SHOULD): Where leaves of two dtypes meet, each gradient has the dtype of its own leaf.
# Found on dezero 0.0.13, Python 3.11.7, Linux x86_64.

import numpy as np

np.int = int
import dezero


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


x = leaf(np.array([1.5, -0.5], dtype=np.float32), True)
y = leaf(np.array([2.5, 3.0]), True)
a = x * y
backward(a, dezero.Variable(np.array([1.0, 3.0])))
got = read(x).dtype
assert got == np.float32, f"the gradient of x has the dtype {got}, but it should be float32"
