# A finding of refgrad on autograd, version 1.9.1: infinities/i0e is wrong.
# i0e: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found: step 4, `read grad x1`: the gradient of x1 is entry (0, 1): nan, but the truth is 0.0

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

x1 = np.array([[0.068, np.inf, 1.703], [-1.18, -0.14, 0.5]])
a1 = special.ive(0, x1)

def program_a1(x1):
    a1 = special.ive(0, x1)
    return a1

output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]))
print(np.asarray(gradient_of_x1))  # gradient of x1
print(np.asarray(a1))  # value of a1
print(np.asarray(x1))  # value of x1
