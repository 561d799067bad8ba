# A finding of refgrad on autograd, version 1.9.1: graphs/double_backward is unexpected-error.
# Gradients of random graphs' gradients are right.
# Found: step 6, `backward e seed float64[1] {0x1p+0}`: raised TypeError: first operand must be array

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

def program_e(a):
    b = a @ a
    c = b[np.array(True, dtype=bool)]
    d = np.arctan2(c, b)

    def program_d(a):
        b = a @ a
        c = b[np.array(True, dtype=bool)]
        d = np.arctan2(c, b)
        return d

    output_d, pullback_of_d = vjp(program_d, [a])
    e = pullback_of_d(np.array([1.0]))[0]
    return e

output_e, pullback_of_e = vjp(program_e, [a])
print(pullback_of_e(np.array([1.0])))  # cotangents of a
