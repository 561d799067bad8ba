# A finding of refgrad: forward_mode/max, wrong error.
# `the output` has a gradient at a = [[[1.0]]]; autograd 1.9.1 raises AxisError: axis -2 is out of bounds for array of
# dimension 1.
# Violated (SHOULD): max: forward mode gives its directional derivatives, whichever operands move.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np


def jvp(function, primals, tangents):
    return autograd.make_jvp(lambda both: function(*both))(tuple(primals))(tuple(tangents))


a = np.array([[[1.0]]])


def function_of_c(a):
    return a.max(axis=(0, -2, 2))


tangent_of_a = np.array([[[1.0]]])
output, c = jvp(function_of_c, [a], [tangent_of_a])
