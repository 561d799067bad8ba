# A finding of refgrad: release/additions_keep_no_operands, other rule broken.
# smallpebble 3.0.5: of a chain of additions, the rule of which needs no operand, 16 arrays of a graph of 16 arrays
# are still held.
# Violated (SHOULD): A chain of additions keeps none of its intermediate values.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp
import gc
import tracemalloc


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


def plain(given):
    if given:
        raise NotImplementedError("keepdims, or a padding by another number than 0")
    return True


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(16):
        y = sp.add(y, y)
    return plain(False) and sp.sum(y, None)


def attempt(_=0):
    size = 131072
    x = sp.Variable(np.ones(size))
    before = held()
    loss, pullback = vjp(function, [x])
    loss if isinstance(loss, np.ndarray) else loss.array  # wait for it
    graph = held() - before
    return graph, held() - before


tracemalloc.start()
graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
