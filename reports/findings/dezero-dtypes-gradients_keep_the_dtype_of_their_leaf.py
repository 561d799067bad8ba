# A finding of refgrad: dtypes/gradients_keep_the_dtype_of_their_leaf, other rule broken.
# The gradient of `square(x)` with respect to `x` of float32 is of float32; dezero 0.0.13 gives float64.
# Violated (MUST): The gradient of a leaf has the leaf's dtype, and so has a value that is made of leaves of one
# dtype.
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
a = x ** 2
backward(a, dezero.Variable(np.array([1.0, 3.0], dtype=np.float32)))
got = read(x).dtype
assert got == np.float32, f"the gradient of x has the dtype {got}, but it should be float32"
