# A finding of refgrad on autograd, version 1.9.1: operators/transpose is unexpected-error.
# transpose: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[1, 2, 1] {0x1p+0 0x1p+0}`: raised ValueError: non-broadcastable output
# operand with shape (2,1,1) doesn't match the broadcast shape (2,2,1)

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

a = np.array([[[1.0]], [[1.0]]])
b = np.transpose(a, axes=(-1, 0, 1))

def program_b(a):
    b = np.transpose(a, axes=(-1, 0, 1))
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array([[[1.0], [1.0]]]))
