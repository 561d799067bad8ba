# A finding of refgrad: scale/many_leaves, crash or hang.
# neograd 0.0.4: n leaves, n = 625: RecursionError; 312 went well.
# Violated (MUST): 10,000 leaves, and more, each receive their own gradient, in linear time.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def attempt(n):
    leaves = [ng.tensor(np.array(number), requires_grad=True) for number in [float(i % 5 + 1) for i in range(n)]]

    def function(*leaves):
        terms = [ng.mul(a, b) for a, b in zip(leaves, leaves[1:] + leaves[:1])]
        while len(terms) > 1:
            pairs = [ng.add(a, b) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2:]
        return terms[0]
    y = function(*leaves)
    y.backward()
    return (y.data, [None if leaf.grad is None or type(leaf.grad) is float else leaf.grad for leaf in leaves])


attempt(625)
