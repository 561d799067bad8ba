# A finding of refgrad: edges/power, missing.
# The gradient of `power(a, b)` with respect to `b` at a = 0.0, b = 1.0 is 0; chainer 7.8.1 gives nan.
# Violated (MUST): power: at its edges the gradient is an element of the subdifferential.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import numpy as np
import chainer


def backward(output, seed):
    if output.creator is None:
        raise NotImplementedError("a backward from what was not computed")
    if seed is not None:
        output.grad = seed
    output.backward()


a = chainer.Variable(np.array(0.0), requires_grad=False)
b = chainer.Variable(np.array(1.0), requires_grad=True)
c = a ** b
backward(c, None)
got = float(b.grad)
assert abs(got) < 1e-12, f"the gradient of b is {got}, but it should be 0.0"
