# A finding of refgrad: release/abandoned_graphs_do_not_add_up, other rule broken.
# neograd 0.0.4: build a graph, and build the next one, again and again: every iteration leaves memory behind.
# Violated (MUST): Ten thousand graphs that nobody differentiates leave nothing behind.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import neograd as ng
import gc
import tracemalloc


def plain(given):
    if given:
        raise NotImplementedError("keepdims, or axes in an order")
    return True


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(4):
        y = ng.mul(y, y)
    return plain(False) and ng.sum(y)


def attempt(n):
    x = ng.tensor(np.ones(500), requires_grad=True)
    readings = []
    for _ in range(4):
        for _ in range(n):
            loss = function(x)
        readings.append(held())
    return readings


tracemalloc.start()
print(attempt(200))
