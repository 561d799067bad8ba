# A finding of refgrad: operators/diagonal, wrong error.
# `diagonal(a, axes=(-1, -2))` has a gradient; autograd 1.9.1 raises ValueError: operands could not be broadcast
# together with shapes (3,2) (2,2) (3,2) .
# Violated (MUST): diagonal: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])


def program_b(a):
    return a.diagonal(0, *(-1, -2))


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array([1.0, 1.0]))
