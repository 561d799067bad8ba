# A finding of refgrad on autograd, version 1.9.1: forward_mode/logsumexp is unexpected-error.
# logsumexp: forward mode gives its directional derivatives, whichever operands move.
# Found: step 3, `c = jvp b a float64[1, 1] {0x1p+0}`: raised AxisError: axis -2 is out of bounds for array of
# dimension 1

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import autograd
import autograd.numpy as np
import autograd.scipy.signal
from autograd.scipy import special

def jvp(function, primals, tangents):
    return autograd.make_jvp(lambda both: function(*both))(tuple(primals))(tuple(tangents))

a = np.array([[1.0]])
b = np.reshape(special.logsumexp(a, axis=(1, -2)), np.sum(a, axis=(1, -2), keepdims=False).shape)

def function_of_c(a):
    b = np.reshape(special.logsumexp(a, axis=(1, -2)), np.sum(a, axis=(1, -2), keepdims=False).shape)
    return b

tangent_of_a = np.array([[1.0]])
output, c = jvp(function_of_c, [a], [tangent_of_a])
print(np.asarray(c))  # value of c
