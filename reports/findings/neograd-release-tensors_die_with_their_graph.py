# A finding of refgrad: release/tensors_die_with_their_graph, other rule broken.
# neograd 0.0.4: an intermediate tensor outlives its graph.
# Violated (MUST): Once an output is dropped, weak references to the intermediate tensors are dead.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng
import gc
import weakref


def attempt():
    x = ng.tensor(1.0, requires_grad=True)
    y = ng.mul(x, x)
    z = ng.mul(y, y)
    watched = weakref.ref(y)
    del y, z
    gc.collect()
    return watched()


got = attempt()
assert got is None, "the tensor is still held"
