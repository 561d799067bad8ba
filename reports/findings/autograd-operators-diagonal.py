# A finding of refgrad on autograd, version 1.9.1: operators/diagonal is unexpected-error.
# diagonal: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[2] {0x1p+0 0x1p+0}`: raised ValueError: operands could not be broadcast
# together with shapes (3,2) (2,2) (3,2)

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

a = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
b = a.diagonal(0, *(-1, -2))

def program_b(a):
    b = a.diagonal(0, *(-1, -2))
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array([1.0, 1.0]))
