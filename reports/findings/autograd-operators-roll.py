# A finding of refgrad: operators/roll, wrong error.
# `roll(a, axis=(0,), shift=(0,))` has a gradient at a = [1.0]; autograd 1.9.1 raises TypeError: bad operand type for
# unary -: 'tuple'.
# Violated (MUST): roll: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array([1.0])


def program_b(a):
    return np.roll(a, (0,), (0,))


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array([1.0]))
