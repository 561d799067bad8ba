# A finding of refgrad: second_order/minimum, wrong error.
# `d/da [multiply(minimum(a, b), a)]` has a gradient at a = 1.0, b = 2.0; chainer 7.8.1 raises AttributeError:
# 'NoneType' object has no attribute 'dtype'.
# Violated (MUST): minimum: its gradient can be differentiated, and the second derivatives are right.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import numpy as np
import chainer
import chainer.functions as F


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


a = chainer.Variable(np.array(1.0), requires_grad=True)
b = chainer.Variable(np.array(2.0), requires_grad=False)
c = F.minimum(a, b)
d = c * a
e = gradient_of(d, a, None)
backward(e, None)
