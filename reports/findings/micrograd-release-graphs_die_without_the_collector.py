# A finding of refgrad: release/graphs_die_without_the_collector, other rule broken.
# micrograd 0.1.0: once its output is dropped, before the garbage collector has run, 100 % of a graph of scalars are
# still held.
# Violated (SHOULD): That needs no garbage collection: a graph holds no reference cycles.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

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
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
