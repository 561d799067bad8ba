# A finding of refgrad: operators/softplus, inaccurate.
# The gradient of `softplus(a)` with respect to `a` at a = -5.0 is 0.0066928509242848554; chainer 7.8.1 gives
# 0.006692850924284732.
# Violated (SHOULD): softplus: value and gradient are right, for any shape, attribute and seed.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import chainer
import chainer.functions as F


def backward(output, seed):
    if output.creator is None:
        raise NotImplementedError("a backward from what was not computed")
    if seed is not None:
        output.grad = seed
    output.backward()


a = chainer.Variable(np.array(-5.0), requires_grad=True)
b = F.softplus(a)
backward(b, None)
got = float(a.grad)
assert math.isclose(got, 0.0066928509242848554, rel_tol=1e-15), f"the gradient of a is {got}, but it should be 0.0066928509242848554"
