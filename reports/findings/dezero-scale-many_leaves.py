# A finding of refgrad: scale/many_leaves, other rule broken.
# dezero 0.0.13: n leaves, up to n = 2,500: time grows about as n^2.
# Violated (MUST): 10,000 leaves, and more, each receive their own gradient, in linear time.
# Found on dezero 0.0.13, Python 3.11.7, Linux x86_64.

import numpy as np

np.int = int
import dezero
import time


def leaf(array, wanted):
    found = dezero.Variable(array)
    found.wanted = wanted
    return found


def backward(output, seed, **more):
    if output.creator is None:
        raise NotImplementedError("a backward from a leaf")
    if seed is not None:
        output.grad = seed
    output.backward(**more)


def read(x):
    return x.grad.data if getattr(x, "wanted", True) and x.grad is not None else None


def attempt(n):
    leaves = [leaf(np.array(number), True) for number in [float(i % 5 + 1) for i in range(n)]]

    def function(*leaves):
        terms = [a * b for a, b in zip(leaves, leaves[1:] + leaves[:1])]
        while len(terms) > 1:
            pairs = [a + b for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2:]
        return terms[0]
    y = function(*leaves)
    backward(y, None)
    return (y.data, [read(leaf) for leaf in leaves])


seconds = {}
for n in (312, 625, 1250, 2500):
    started = time.process_time()
    attempt(n)
    seconds[n] = time.process_time() - started
_, first, *_, last = seconds  # the first size also pays for what happens once
got = seconds[last] / seconds[first]
assert got < (last / first) ** 1.5, f"the time grows by a factor of {got:.0f} where the size grows by one of {last / first:.0f}"
