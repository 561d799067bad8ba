# A finding of refgrad: operators/set_at, wrong first derivative.
# The gradient of `set_at(a, b, index=(0,))` with respect to `b` at a = [1.0], b = 1.0 is 1; smallpebble 3.0.5 gives
# 0.
# Violated (MUST): set_at: value and gradient are right, for any shape, attribute and seed.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


a = sp.Variable(np.array([1.0]))
b = sp.Variable(np.array(1.0))


def program_c(b):
    return sp.setat(a, tuple((np.array(i, dtype=int) if isinstance(i, tuple) else i for i in (0,))), b)


output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(np.array([1.0]))
got = float(gradient_of_b.array)
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of b is {got}, but it should be 1.0"
