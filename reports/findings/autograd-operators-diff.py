# A finding of refgrad on autograd, version 1.9.1: operators/diff is unexpected-error.
# diff: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[0] {}`: raised ValueError: non-broadcastable output operand with shape (1,)
# doesn't match the broadcast shape (2,)

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
b = np.diff(a, 2, axis=-1)

def program_b(a):
    b = np.diff(a, 2, axis=-1)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.zeros((0,)))
