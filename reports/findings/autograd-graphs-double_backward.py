# A finding of refgrad on autograd, version 1.9.1: graphs/double_backward is unexpected-error.
# Gradients of random graphs' gradients are right.
# Found: step 4, `d = solve c c`: raised LinAlgError: Singular matrix

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
c = np.array([[3.0, 2.0], [3.0, 2.0]])

def program_e(a):
    b = np.exp2(a)

    def program_b(a):
        b = np.exp2(a)
        return b

    output_b, pullback_of_b = vjp(program_b, [a])
    e = pullback_of_b(np.ones_like(np.asarray(output_b)))[0]
    return e

output_e, pullback_of_e = vjp(program_e, [a])
print(pullback_of_e(np.ones_like(np.asarray(output_e))))  # cotangents of a
