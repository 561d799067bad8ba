# A finding of refgrad: scale/fan_out, crash or hang.
# neograd 0.0.4: a leaf that is used n times, n = 312: RecursionError; 156 went well.
# Violated (MUST): A leaf that is used 10,000 times, and more, receives the sum of all that is sent to it, in linear
# time.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def attempt(n):
    leaves = [ng.tensor(np.array(number), requires_grad=True) for number in [1.5]]

    def function(*leaves):
        x = leaves[0]
        terms = [-x for _ in range(n)]
        while len(terms) > 1:
            pairs = [ng.add(a, b) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2:]
        return terms[0]
    y = function(*leaves)
    y.backward()
    return (y.data, [None if leaf.grad is None or type(leaf.grad) is float else leaf.grad for leaf in leaves])


attempt(312)
