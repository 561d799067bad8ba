# A finding of refgrad: operators/matmul, wrong error.
# `matmul(a, a)` has a gradient at a = [1.0]; smallpebble 3.0.5 raises AxisError: axis1: axis -2 is out of bounds for
# array of dimension 1.
# Violated (MUST): matmul: value and gradient are right, for any shape, attribute and seed.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


a = sp.Variable(np.array([1.0]))


def program_b(a):
    return sp.matmul(a, a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array(1.0))
