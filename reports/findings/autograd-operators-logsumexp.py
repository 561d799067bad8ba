# A finding of refgrad: operators/logsumexp, wrong error.
# `logsumexp(a, axis=(-3, 3))` can be computed at a = []; autograd 1.9.1 raises IndexError: too many indices for
# array: array is 1-dimensional, but 2 were indexed.
# Violated (MUST): logsumexp: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
from autograd.scipy import special

a = np.zeros((0, 4, 2, 2))


def program_b(a):
    return np.reshape(special.logsumexp(a, axis=(-3, 3)), np.sum(a, axis=(-3, 3)).shape)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.zeros((0, 2)))
