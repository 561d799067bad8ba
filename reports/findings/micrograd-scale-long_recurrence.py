# A finding of refgrad on micrograd, version 0.1.0: scale/long_recurrence is crashed.
# 100,000 steps that use one weight again and again accumulate its gradient without recursion and in linear time.
# Found: a recurrence of n steps with one weight, n = 1,562: RecursionError; 390 went well

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

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


print(attempt(1562))
