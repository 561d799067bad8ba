# A finding of refgrad on micrograd, version 0.1.0: release/graphs_die_without_the_collector is wrong.
# That needs no garbage collection: a graph holds no reference cycles.
# Found: once its output is dropped, before the garbage collector has run, 100 % of a graph of scalars are still held

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

import gc
import tracemalloc

gc.disable()


def held():
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(200):
        y = y * y
    return y


def attempt(_=0):
    x = Value(1.0)
    before = held()
    loss = function(x)
    np.array(loss.data)  # wait for it
    graph = held() - before
    del loss
    return graph, held() - before


tracemalloc.start()


print(attempt())
