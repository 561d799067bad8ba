# A finding of refgrad on micrograd, version 0.1.0: scale/long_chain is crashed.
# A chain of 100,000 operators is built, differentiated and released, without recursion and in linear time.
# Found: a chain of n operators, n = 1,562: RecursionError; 390 went well

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

def attempt(n):
    leaves = [Value(number) for number in [1.5]]

    def function(*leaves):
        y = leaves[0]
        for _ in range(n):
            y = -y
        return y

    y = function(*leaves)
    y.backward()
    return np.array(y.data), [leaf.grad for leaf in leaves]


print(attempt(1562))
