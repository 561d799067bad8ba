# A finding of refgrad: scale/long_recurrence, crash or hang.
# micrograd 0.1.0: a recurrence of n steps with one weight, n = 1,562: RecursionError; 390 went well.
# Violated (MUST): 100,000 steps that use one weight again and again accumulate its gradient without recursion and in
# linear time.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import numpy as np
from micrograd.engine import Value


def attempt(n):
    leaves = [Value(number) for number in [-1.0, 1.5]]

    def function(*leaves):
        weight, y = leaves
        for _ in range(n):
            y = y * weight
        return y

    y = function(*leaves)
    y.backward()
    return np.array(y.data), [leaf.grad for leaf in leaves]


attempt(1562)
