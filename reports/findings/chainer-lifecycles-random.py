# A finding of refgrad: lifecycles/random, other rule broken.
# At the end of the program, `b = grad a a seed float64[2] {0x1p+0 0x1p+0}` is an error: the seed has another shape
# than the output; chainer 7.8.1 raises none.
# Violated (MUST): Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step
# shows what it must, and fails where it must.
# Found on chainer 7.8.1, Python 3.11.7, Linux x86_64.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import chainer


def gradient_of(output, leaf, seed):
    seeds = None if seed is None else [chainer.Variable(seed)]
    found = chainer.grad([output], [leaf], seeds, enable_double_backprop=True)[0]
    return chainer.Variable(np.zeros_like(leaf.array)) if found is None else found


a = chainer.Variable(np.array(1.0), requires_grad=True)
try:
    b = gradient_of(a, a, np.array([1.0, 1.0]))
except Exception as error:
    print(f"{type(error).__name__}: {error}")
print(b if isinstance(b, np.ndarray) else b.array)  # value of b
