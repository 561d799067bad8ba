# A finding of refgrad on autograd, version 1.9.1: half_precision/erf is wrong.
# erf: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found: step 4, `read value b`: the value of b has the dtype float64, but it should be float16

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

a = np.array(1.0, dtype=np.float16)
b = special.erf(a)

def program_b(a):
    b = special.erf(a)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array(1.0, dtype=np.float16))
print(np.asarray(b), np.asarray(np.asarray(b)).dtype)  # value of b
