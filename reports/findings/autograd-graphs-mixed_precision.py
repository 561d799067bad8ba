# A finding of refgrad on autograd, version 1.9.1: graphs/mixed_precision is inaccurate.
# Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found: step 5, `read grad b`: the gradient of b is 2.7725887298583984, but the truth is 2.7725887222397812 (relative
# error 2.7e-09, 2.04e+06 times what rounding explains)

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

a = np.array(2.0, dtype=np.float32)
b = np.array(2.0)
c = a ** b

def program_c(b):
    c = a ** b
    return c

output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(np.array(1.0))
print(np.asarray(gradient_of_b), np.asarray(np.asarray(gradient_of_b)).dtype)  # gradient of b
