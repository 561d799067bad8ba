# A finding of refgrad: operators/arctan2, wrong error.
# `arctan2(a, b)` has a gradient at a = [1.0], b = 1.0; chainer 7.8.1 raises ValueError: Function `<property object at
# 0x7f554aecac50>` (arctan2) has a bug. Please report this error to the issue tracker with the stack trace, the
# information of your environment, and your script: https://github.com/chainer/chainer/issues/new. Shape of data and
# grad mismatch grad: (1,) != data: ().
# Violated (MUST): arctan2: value and gradient are right, for any shape, attribute and seed.
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


a = chainer.Variable(np.array([1.0]), requires_grad=False)
b = chainer.Variable(np.array(1.0), requires_grad=True)
c = F.arctan2(a, b)
backward(c, np.array([1.0]))
