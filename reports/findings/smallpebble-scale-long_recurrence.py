# A finding of refgrad: scale/long_recurrence, crash or hang.
# smallpebble 3.0.5: a recurrence of n steps with one weight, n = 1,562: RecursionError; 390 went well.
# Violated (MUST): 100,000 steps that use one weight again and again accumulate its gradient without recursion and in
# linear time.
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
    leaves = [sp.Variable(np.array(number)) for number in [-1.0, 1.5]]

    def function(*leaves):
        weight, y = leaves
        for _ in range(n):
            y = sp.mul(y, weight)
        return y

    y, pullback = vjp(function, leaves)
    cotangents = pullback(np.array(1.0))
    return y if isinstance(y, np.ndarray) else y.array, [c if isinstance(c, np.ndarray) else c.array for c in cotangents]


attempt(1562)
