# A finding of refgrad: graphs/one_backward, wrong error.
# `sum(a)` has a gradient at a = 1.0; neograd 0.0.4 raises AttributeError: 'float' object has no attribute 'reshape'.
# Violated (MUST): Random graphs with sharing, fan-out and several leaves have the right gradients.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng


def plain(given):
    if given:
        raise NotImplementedError("keepdims, or axes in an order")
    return True


a = ng.tensor(1.0, requires_grad=True)
b = a.reshape(())
c = plain(False) and ng.sum(a)
c.backward()
