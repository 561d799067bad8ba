# A finding of refgrad: forward_mode/var, wrong error.
# `the output` has a gradient at a = [1.0]; autograd 1.9.1 raises NameError: name 'np' is not defined.
# Violated (SHOULD): var: forward mode gives its directional derivatives, whichever operands move.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np


def jvp(function, primals, tangents):
    return autograd.make_jvp(lambda both: function(*both))(tuple(primals))(tuple(tangents))


a = np.array([1.0])


def function_of_c(a):
    return np.var(a, axis=(0,), ddof=0)


tangent_of_a = np.array([1.0])
output, c = jvp(function_of_c, [a], [tangent_of_a])
