# A finding of refgrad on autograd, version 1.9.1: operators/einsum is unexpected-error.
# einsum: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[1] {0x1p+0}`: raised ValueError: einstein sum subscripts string includes
# output subscript 'j' multiple times

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

a = np.array([[1.0]])
b = np.einsum('ij,jj->i', a, a)

def program_b(a):
    b = np.einsum('ij,jj->i', a, a)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array([1.0]))
