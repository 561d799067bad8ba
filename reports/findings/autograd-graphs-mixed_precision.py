# A finding of refgrad on autograd, version 1.9.1: graphs/mixed_precision is inaccurate.
# Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found: step 5, `read grad a`: the gradient of a is 0.41868710070211035, but the truth is 0.41868709032331364
# (relative error 2.5e-08, 4.3e+07 times what rounding explains)

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
b = np.array(1.847000002861023, dtype=np.float32)
c = np.arctan2(a, b)

def program_c(a):
    c = np.arctan2(a, b)
    return c

output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(np.array(1.0))
print(np.asarray(gradient_of_a), np.asarray(np.asarray(gradient_of_a)).dtype)  # gradient of a
