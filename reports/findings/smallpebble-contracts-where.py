# A finding of refgrad: contracts/where, wrong error.
# `where(a, b, b)` has a gradient at a = [True, True], b = 1.0; smallpebble 3.0.5 raises ValueError: cannot reshape
# array of size 2 into shape ().
# Violated (MUST): where: its backward leaves operands and seeds as they are, gives the same when it is walked again,
# and no two gradients share memory.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


a = np.array([True, True])
b = sp.Variable(np.array(1.0))


def program_c(b):
    return sp.where(a, b, b)


output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(np.array([1.0, 1.0]))
