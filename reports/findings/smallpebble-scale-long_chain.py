# A finding of refgrad: scale/long_chain, crash or hang.
# smallpebble 3.0.5: a chain of n operators, n = 1,562: RecursionError; 390 went well.
# Violated (MUST): A chain of 100,000 operators is built, differentiated and released, without recursion and in linear
# time.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


def attempt(n):
    leaves = [sp.Variable(np.array(number)) for number in [1.5]]

    def function(*leaves):
        y = leaves[0]
        for _ in range(n):
            y = sp.neg(y)
        return y

    y, pullback = vjp(function, leaves)
    cotangents = pullback(np.array(1.0))
    return y if isinstance(y, np.ndarray) else y.array, [c if isinstance(c, np.ndarray) else c.array for c in cotangents]


attempt(1562)
