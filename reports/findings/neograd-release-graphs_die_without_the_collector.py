# A finding of refgrad: release/graphs_die_without_the_collector, other rule broken.
# neograd 0.0.4: once its output is dropped, before the garbage collector has run, 16 arrays of a graph of 16 arrays
# are still held.
# Violated (SHOULD): That needs no garbage collection: a graph holds no reference cycles.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng
import gc
import tracemalloc


def plain(given):
    if given:
        raise NotImplementedError("keepdims, or axes in an order")
    return True


gc.disable()


def held():
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(16):
        y = ng.mul(y, y)
    return plain(False) and ng.sum(y)


def attempt(_=0):
    size = 131072
    x = ng.tensor(np.ones(size), requires_grad=True)
    before = held()
    loss = function(x)
    loss.data  # wait for it
    graph = held() - before
    del loss
    return graph, held() - before


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
