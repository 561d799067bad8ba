# A finding of refgrad on autograd, version 1.9.1: operators/where_number is unexpected-error.
# where_number: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `backward c seed float64[1] {0x1p+0}`: raised ValueError: non-broadcastable output operand with shape
# () doesn't match the broadcast shape (1,)

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

a = np.array([True])
b = np.array(1.0)
c = np.where(a, b, 0.0)

def program_c(b):
    c = np.where(a, b, 0.0)
    return c

output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(np.array([1.0]))
