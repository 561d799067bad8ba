# A finding of refgrad: scale/long_chain, crash or hang.
# micrograd 0.1.0: a chain of n operators, n = 1,562: RecursionError; 390 went well.
# Violated (MUST): A chain of 100,000 operators is built, differentiated and released, without recursion and in linear
# time.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

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


attempt(1562)
