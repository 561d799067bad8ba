# A finding of refgrad: edges/max, wrong first derivative.
# Moving `a` by [1, 1] changes `max(a)` by 1; according to the gradient that dezero 0.0.13 gives, by 2.
# Violated (MUST): max: at its edges the gradient is an element of the subdifferential.
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


a = leaf(np.array([1.0, 1.0]), True)
b = F.max(a)
backward(b, None)
got = float(np.vdot(np.asarray(read(a)), np.array([1.0, 1.0])))
assert abs(got - 1.0) < 1e-6, f"moving a by [1.0, 1.0] changes the output by 1.0, but by {got} according to the gradient"
