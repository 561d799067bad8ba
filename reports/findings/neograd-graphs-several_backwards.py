# A finding of refgrad: graphs/several_backwards, wrong first derivative.
# At the end of the program, the gradient of `a`, added up over 2 backwards, is 2; neograd 0.0.4 gives 3.
# Violated (MUST): Random graphs with several losses and kept graphs have the right gradients.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import math
import neograd as ng


def plain(given):
    if given:
        raise NotImplementedError("keepdims, or axes in an order")
    return True


a = ng.tensor(1.0, requires_grad=True)
b = plain(False) and ng.sum(a)
b.backward(retain_graph=True)
b.backward()
got = float(None if a.grad is None or type(a.grad) is float else a.grad)
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of a is {got}, but it should be 2.0"
