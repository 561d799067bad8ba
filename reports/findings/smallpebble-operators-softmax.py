# A finding of refgrad: operators/softmax, wrong error.
# `softmax(a, axis=0)` can be computed at a = [[], []]; smallpebble 3.0.5 raises ValueError: zero-size array to
# reduction operation maximum which has no identity.
# Violated (MUST): softmax: value and gradient are right, for any shape, attribute and seed.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


a = sp.Variable(np.zeros((2, 0)))


def program_b(a):
    return sp.softmax(a, axis=0)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.zeros((2, 0)))
