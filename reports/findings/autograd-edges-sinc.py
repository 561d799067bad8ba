# A finding of refgrad on autograd, version 1.9.1: edges/sinc is missing.
# sinc: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is 0: The singularity at 0 is removable: the
# series begins 1 - (pi x) ** 2 / 6, though the formula is 0 / 0.

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

a = np.array(-0.0)
b = np.sinc(a)

def program_b(a):
    b = np.sinc(a)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array(1.0))
print(np.asarray(gradient_of_a))  # gradient of a
