# A finding of refgrad: lifecycles/random, other rule broken.
# At the end of the program, `backward c` is an error: the graph was freed; neograd 0.0.4 raises none.
# Violated (MUST): Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step
# shows what it must, and fails where it must.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng


def plain(given):
    if given:
        raise NotImplementedError("keepdims, or axes in an order")
    return True


a = ng.tensor(1.0, requires_grad=True)
b = plain(False) and ng.sum(a)
b.backward()
c = plain(False) and ng.sum(b)
try:
    c.backward()
except Exception:
    pass
else:
    raise AssertionError('no error was raised, though the graph was freed')
