# A finding of refgrad: scale/long_recurrence, crash or hang.
# neograd 0.0.4: a recurrence of n steps with one weight, n = 1,562: RecursionError; 390 went well.
# Violated (MUST): 100,000 steps that use one weight again and again accumulate its gradient without recursion and in
# linear time.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def attempt(n):
    leaves = [ng.tensor(np.array(number), requires_grad=True) for number in [-1.0, 1.5]]

    def function(*leaves):
        weight, y = leaves
        for _ in range(n):
            y = ng.mul(y, weight)
        return y
    y = function(*leaves)
    y.backward()
    return (y.data, [None if leaf.grad is None or type(leaf.grad) is float else leaf.grad for leaf in leaves])


attempt(1562)
