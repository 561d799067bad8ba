# A finding of refgrad on autograd, version 1.9.1: graphs/one_backward is unexpected-error.
# Random graphs with sharing, fan-out and several leaves have the right gradients.
# Found: step 2, `b = solve a a`: raised LinAlgError: Singular matrix

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

a = np.array([[1.0, -3.0], [1.0, -3.0]])

def program_b(a):
    b = np.linalg.solve(a, a)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
print(pullback_of_b(np.array([[1.0, 1.0], [1.0, 1.0]])))  # cotangents of a
