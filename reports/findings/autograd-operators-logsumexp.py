# A finding of refgrad on autograd, version 1.9.1: operators/logsumexp is unexpected-error.
# logsumexp: value and gradient are right, for any shape, attribute and seed.
# Found: step 2, `b = logsumexp a axis=(-3, 3)`: raised IndexError: too many indices for array: array is
# 1-dimensional, but 2 were indexed

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import autograd
import autograd.numpy as np
import autograd.scipy.signal
from autograd.scipy import special

def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback

a = np.zeros((0, 4, 2, 2))
b = np.reshape(special.logsumexp(a, axis=(-3, 3)), np.sum(a, axis=(-3, 3), keepdims=False).shape)

def program_b(a):
    b = np.reshape(special.logsumexp(a, axis=(-3, 3)), np.sum(a, axis=(-3, 3), keepdims=False).shape)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.zeros((0, 2)))
