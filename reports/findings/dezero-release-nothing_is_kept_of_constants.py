# A finding of refgrad: release/nothing_is_kept_of_constants, other rule broken.
# dezero 0.0.13: of what is computed from constants, 17 arrays of a graph of 16 arrays are still held.
# Violated (SHOULD): What is computed from constants keeps nothing but its result.
# Found on dezero 0.0.13, Python 3.11.7, Linux x86_64.

import numpy as np

np.int = int
import dezero
import dezero.functions as F
import gc
import tracemalloc


def leaf(array, wanted):
    found = dezero.Variable(array)
    found.wanted = wanted
    return found


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(16):
        y = y * y
    return F.sum(y)


def attempt(_=0):
    size = 131072
    x = leaf(np.ones(size), True)
    before = held()
    loss = function(x)
    loss.data  # wait for it
    graph = held() - before
    del loss
    constant = leaf(np.ones(size), False)
    loss = function(constant)
    del constant
    return graph, held() - before


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
