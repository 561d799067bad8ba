# A finding of refgrad: operators/where_number, wrong error.
# `where_number(a, b)` has a gradient at a = [True], b = 1.0; autograd 1.9.1 raises ValueError: non-broadcastable
# output operand with shape () doesn't match the broadcast shape (1,).
# Violated (MUST): where_number: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array([True])
b = np.array(1.0)


def program_c(b):
    return np.where(a, b, 0.0)


pullback_of_c, output_c = autograd.make_vjp(program_c, (0,))(b)
[gradient_of_b] = pullback_of_c(np.array([1.0]))
