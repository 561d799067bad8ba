# A finding of refgrad: release/nothing_is_kept_of_constants, other rule broken.
# micrograd 0.1.0: of what is computed from constants, 100 % of a graph of scalars are still held.
# Violated (SHOULD): What is computed from constants keeps nothing but its result.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import numpy as np
from micrograd.engine import Value
import gc
import tracemalloc


def held():
    gc.collect()
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
    constant = Value(1.0)
    loss = function(constant)
    del constant
    return graph, held() - before


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
