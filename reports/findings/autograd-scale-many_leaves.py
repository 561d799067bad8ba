# A finding of refgrad: scale/many_leaves, other rule broken.
# autograd 1.9.1: n leaves, up to n = 2,500: time grows about as n^2.
# Violated (MUST): 10,000 leaves, and more, each receive their own gradient, in linear time.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
import time


def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback


def attempt(n):
    leaves = [np.array(number) for number in [float(i % 5 + 1) for i in range(n)]]

    def function(*leaves):
        terms = [np.multiply(a, b) for a, b in zip(leaves, leaves[1:] + leaves[:1])]
        while len(terms) > 1:
            pairs = [np.add(a, b) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2:]
        return terms[0]
    y, pullback = vjp(function, leaves)
    cotangents = pullback(np.array(1.0))
    return (np.asarray(y), [np.asarray(c) for c in cotangents])


seconds = {}
for n in (312, 625, 1250, 2500):
    started = time.process_time()
    attempt(n)
    seconds[n] = time.process_time() - started
_, first, *_, last = seconds  # the first size also pays for what happens once
got = seconds[last] / seconds[first]
assert got < (last / first) ** 1.5, f"the time grows by a factor of {got:.0f} where the size grows by one of {last / first:.0f}"
