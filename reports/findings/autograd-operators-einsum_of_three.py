# A finding of refgrad: operators/einsum_of_three, wrong error.
# `einsum_of_three(a, a, a, subscripts='ij,jk,kk->i')` has a gradient at a = [[1.0]]; autograd 1.9.1 raises
# ValueError: einstein sum subscripts string includes output subscript 'k' multiple times.
# Violated (MUST): einsum_of_three: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array([[1.0]])


def program_b(a):
    return np.einsum('ij,jk,kk->i', a, a, a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array([1.0]))
