# A finding of refgrad on autograd, version 1.9.1: operators/i0 is wrong.
# i0: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is 4.9999999999999847e-311

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

a = np.array(1e-310)
b = special.iv(0, a)

def program_b(a):
    b = special.iv(0, a)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array(1.0))
print(np.asarray(gradient_of_a))  # gradient of a
