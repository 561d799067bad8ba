# A finding of refgrad: operators/where, wrong error.
# `where(a, b, c)` has a gradient at a = True, b = [1.0], c = 1.0; autograd 1.9.1 raises ValueError: non-broadcastable
# output operand with shape () doesn't match the broadcast shape (1,).
# Violated (MUST): where: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array(True)
b = np.array([1.0])
c = np.array(1.0)


def program_d(c):
    return np.where(a, b, c)


pullback_of_d, output_d = autograd.make_vjp(program_d, (0,))(c)
[gradient_of_c] = pullback_of_d(np.array([1.0]))
