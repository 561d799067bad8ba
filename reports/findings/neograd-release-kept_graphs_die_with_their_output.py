# A finding of refgrad: release/kept_graphs_die_with_their_output, other rule broken.
# neograd 0.0.4: once the output of a kept graph is dropped, 33 arrays of a graph of 16 arrays are still held.
# Violated (MUST): retain_graph keeps a graph for as long as its output lives, not longer; the gradient that is left
# does not hold it.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

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
    for _ in range(16):
        y = ng.mul(y, y)
    return plain(False) and ng.sum(y)


def attempt(_=0):
    size = 131072
    x = ng.tensor(np.ones(size), requires_grad=True)
    before = held()
    loss = function(x)
    loss.data
    graph = held() - before
    loss.backward(retain_graph=True)
    del loss
    return (graph, held() - before)


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
