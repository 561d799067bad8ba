# A finding of refgrad: second_order/integer_power, wrong higher derivative.
# The gradient of `d/da [integer_power(a, n=1)]` with respect to `a` at a = -5e-324 is 0; chainer 7.8.1 gives nan.
# Violated (MUST): integer_power: its gradient can be differentiated, and the second derivatives are right.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import numpy as np
import chainer


def backward(output, seed):
    if output.creator is None:
        raise NotImplementedError("a backward from what was not computed")
    if seed is not None:
        output.grad = seed
    output.backward()


def gradient_of(output, leaf, seed):
    seeds = None if seed is None else [chainer.Variable(seed)]
    found = chainer.grad([output], [leaf], seeds, enable_double_backprop=True)[0]
    return chainer.Variable(np.zeros_like(leaf.array)) if found is None else found


a = chainer.Variable(np.array(-5e-324), requires_grad=True)
b = a ** 1
c = gradient_of(b, a, None)
backward(c, None)
got = float(a.grad)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
