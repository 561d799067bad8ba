# A finding of refgrad on autograd, version 1.9.1: operators/transpose is wrong.
# transpose: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is entry (0, 1): 2.0, but the truth is 1.0000000000000000 (relative
# error 1.0e+00, 4.5e+15 times what rounding explains)

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

a = np.array([[1.0, 1.0], [1.0, 1.0]])
b = np.transpose(a, axes=(0, -1))

def program_b(a):
    b = np.transpose(a, axes=(0, -1))
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array([[1.0, 1.0], [2.0, 1.0]]))
print(np.asarray(gradient_of_a))  # gradient of a
