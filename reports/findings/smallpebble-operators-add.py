# A finding of refgrad: operators/add, wrong error.
# `add(a, b)` has a gradient at a = [], b = [1.0]; smallpebble 3.0.5 raises ValueError: cannot reshape array of size 0
# into shape (1,).
# Violated (MUST): add: value and gradient are right, for any shape, attribute and seed.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


a = sp.Variable(np.zeros((0,)))
b = sp.Variable(np.array([1.0]))


def program_c(b):
    return a + b


output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(np.zeros((0,)))
