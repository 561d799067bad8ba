# A finding of refgrad: operators/where, wrong error.
# `where(a, b, c)` has a gradient at a = [], b = [], c = [1.0]; smallpebble 3.0.5 raises ValueError: cannot reshape
# array of size 0 into shape (1,).
# Violated (MUST): where: value and gradient are right, for any shape, attribute and seed.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


a = np.zeros((0,), dtype=bool)
b = sp.Variable(np.zeros((0,)))
c = sp.Variable(np.array([1.0]))


def program_d(c):
    return sp.where(a, b, c)


output_d, pullback_of_d = vjp(program_d, [c])
[gradient_of_c] = pullback_of_d(np.zeros((0,)))
