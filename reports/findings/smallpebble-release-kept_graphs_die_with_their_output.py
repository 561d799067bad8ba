# A finding of refgrad: release/kept_graphs_die_with_their_output, crash or hang.
# smallpebble 3.0.5: gave no answer within 60 s.
# Violated (MUST): retain_graph keeps a graph for as long as its output lives, not longer; the gradient that is left
# does not hold it.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

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
        y = sp.mul(y, y)
    return plain(False) and sp.sum(y, None)


def attempt(_=0):
    size = 131072
    x = sp.Variable(np.ones(size))
    before = held()
    loss, pullback = vjp(function, [x])
    loss if isinstance(loss, np.ndarray) else loss.array  # wait for it
    graph = held() - before
    gradients = pullback(np.array(1.0))
    del loss, pullback
    return graph, held() - before


tracemalloc.start()
print(attempt())
