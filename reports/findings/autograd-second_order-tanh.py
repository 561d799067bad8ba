# A finding of refgrad on autograd, version 1.9.1: second_order/tanh is wrong.
# tanh: its gradient can be differentiated, and the second derivatives are right.
# Found: step 5, `read grad a`: the gradient of a is nan, but the truth is -1.0762643172205314e-694

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

a = np.array(800.0)
b = np.tanh(a)

def program_b(a):
    b = np.tanh(a)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
c = pullback_of_b(np.array(1.0))[0]

def program_c(a):
    b = np.tanh(a)

    def program_b_2(a):
        b = np.tanh(a)
        return b

    output_b_2, pullback_of_b_2 = vjp(program_b_2, [a])
    c = pullback_of_b_2(np.array(1.0))[0]
    return c

output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(np.array(1.0))
print(np.asarray(gradient_of_a))  # gradient of a
