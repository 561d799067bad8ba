# A finding of refgrad on autograd, version 1.9.1: operators/tile is unexpected-error.
# tile: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[0] {}`: raised ZeroDivisionError: integer modulo by zero

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

a = np.array(1.0)

def program_b(a):
    b = np.tile(a, (0,))
    return b

output_b, pullback_of_b = vjp(program_b, [a])
print(pullback_of_b(np.zeros((0,))))  # cotangents of a
