# A finding of refgrad: operators/broadcast_to, wrong error.
# `broadcast_to(a, shape=(1,))` has a gradient at a = 1.0; autograd 1.9.1 raises AssertionError: Can't handle extra
# leading dims.
# Violated (MUST): broadcast_to: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array(1.0)


def program_b(a):
    return np.broadcast_to(a, (1,))


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array([1.0]))
