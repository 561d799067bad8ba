# A finding of refgrad: release/additions_keep_no_operands, other rule broken.
# mygrad 2.5.0: of a chain of additions, the rule of which needs no operand, 16 arrays of a graph of 16 arrays are
# still held.
# Violated (SHOULD): A chain of additions keeps none of its intermediate values.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg
import gc
import tracemalloc


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(16):
        y = mg.add(y, y)
    return mg.sum(y)


def attempt(_=0):
    size = 131072
    x = mg.tensor(np.ones(size))
    before = held()
    loss = function(x)
    np.asarray(loss)
    graph = held() - before
    return (graph, held() - before)


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
