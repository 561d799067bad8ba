# A finding of refgrad: operators/add_at, wrong error.
# `b` has a gradient; mlx 0.32.4 raises ValueError: [reshape] Cannot reshape array of size 6 into shape (2,1,3,2).
# Violated (MUST): add_at: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


def integers(indices):
    return mx.array(np.array(indices, dtype=np.int64))


def as_index(index):
    return tuple(integers(i) if isinstance(i, tuple) else i for i in index)


a = mx.array(np.array([[[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]]]), dtype=mx.float64)


def program_b(a):
    return mx.zeros((2, 1, 5, 4), a.dtype).at[as_index((slice(None, None, None), (0,), slice(3, 0, -1), slice(1, 3, None)))].add(a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array([[[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]], [[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]]]), dtype=mx.float64))
