# A finding of refgrad on autograd, version 1.9.1: operators/convolve is unexpected-error.
# convolve: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `backward c seed float64[2] {0x1p+0 0x1p+0}`: raised ValueError: operands could not be broadcast
# together with shapes (2,) (3,) (2,)

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

a = np.array([1.0])
b = np.array([1.0, 1.0])
c = autograd.scipy.signal.convolve(a, b, mode='same')

def program_c(b):
    c = autograd.scipy.signal.convolve(a, b, mode='same')
    return c

output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(np.array([1.0, 1.0]))
