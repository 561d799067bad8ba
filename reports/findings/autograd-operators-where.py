# A finding of refgrad on autograd, version 1.9.1: operators/where is unexpected-error.
# where: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `backward d seed float64[1] {0x1p+0}`: raised ValueError: non-broadcastable output operand with shape
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

a = np.array(True)
b = np.array([1.0])
c = np.array(1.0)
d = np.where(a, b, c)

def program_d(c):
    d = np.where(a, b, c)
    return d

output_d, pullback_of_d = vjp(program_d, [c])
[gradient_of_c] = pullback_of_d(np.array([1.0]))
