# A finding of refgrad: release/nothing_is_kept_of_constants, other rule broken.
# chainer 7.8.1: of what is computed from constants, 16 arrays of a graph of 16 arrays are still held.
# Violated (SHOULD): What is computed from constants keeps nothing but its result.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import numpy as np
import chainer
import chainer.functions as F
import gc
import tracemalloc


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(16):
        y = y * y
    return F.sum(y)


def attempt(_=0):
    size = 131072
    x = chainer.Variable(np.ones(size), requires_grad=True)
    before = held()
    loss = function(x)
    loss if isinstance(loss, np.ndarray) else loss.array
    graph = held() - before
    del loss
    constant = chainer.Variable(np.ones(size), requires_grad=False)
    loss = function(constant)
    del constant
    return (graph, held() - before)


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
