# A finding of refgrad on autograd, version 1.9.1: scale/many_leaves is wrong.
# 10,000 leaves, and more, each receive their own gradient, in linear time.
# Found: n leaves, up to n = 2,500: time grows about as n^2

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import autograd
import autograd.numpy as np
import autograd.scipy.signal
from autograd.scipy import special

def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback

import time


def attempt(n):
    leaves = [np.array(number) for number in [float(i % 5 + 1) for i in range(n)]]

    def function(*leaves):
        terms = [np.multiply(a, b) for a, b in zip(leaves, leaves[1:] + leaves[:1])]
        while len(terms) > 1:
            pairs = [np.add(a, b) for a, b in zip(terms[::2], terms[1::2])]
            terms = pairs + terms[len(pairs) * 2 :]
        y = terms[0]
        return y

    y, pullback = vjp(function, leaves)
    cotangents = pullback(np.array(1.0))
    return np.asarray(y), [np.asarray(c) for c in cotangents]


for n in (312, 625, 1250, 2500):
    started = time.process_time()
    attempt(n)
    print(n, time.process_time() - started, flush=True)
