# A finding of refgrad on autograd, version 1.9.1: third_order/i1 is wrong.
# i1: its second derivatives can be differentiated, and the third ones are right.
# Found: step 6, `read grad a`: the gradient of a is entry (1,): 0.375, but the truth is 0.50000000000000000 (relative
# error 2.5e-01, 5.63e+14 times what rounding explains)

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

a = np.array([1.0, -0.0])

def program_d(a):
    b = special.i1(a)

    def program_b(a):
        b = special.i1(a)
        return b

    output_b, pullback_of_b = vjp(program_b, [a])
    c = pullback_of_b(np.array([1.0, 1.0]))[0]

    def program_c(a):
        b = special.i1(a)

        def program_b(a):
            b = special.i1(a)
            return b

        output_b, pullback_of_b = vjp(program_b, [a])
        c = pullback_of_b(np.array([1.0, 1.0]))[0]
        return c

    output_c, pullback_of_c = vjp(program_c, [a])
    d = pullback_of_c(np.array([1.0, 1.0]))[0]
    return d

output_d, pullback_of_d = vjp(program_d, [a])
print(pullback_of_d(np.array([1.0, 1.0])))  # cotangents of a
