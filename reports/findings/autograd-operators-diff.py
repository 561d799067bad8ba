# A finding of refgrad: operators/diff, wrong error.
# `diff(a, n=2)` has a gradient at a = [1.0]; autograd 1.9.1 raises ValueError: non-broadcastable output operand with
# shape (1,) doesn't match the broadcast shape (2,).
# Violated (MUST): diff: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array([1.0])


def program_b(a):
    return np.diff(a, 2, axis=-1)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.zeros((0,)))
