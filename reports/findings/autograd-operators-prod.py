# A finding of refgrad on autograd, version 1.9.1: operators/prod is missing.
# prod: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is 1.0000000000000000: A factor's derivative
# is the product of the others, whatever the factor is: the product divided by the factor is 0 / 0.

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

a = np.array(0.0)
b = np.prod(a, axis=None, keepdims=False)

def program_b(a):
    b = np.prod(a, axis=None, keepdims=False)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array(1.0))
print(np.asarray(gradient_of_a))  # gradient of a
