# A finding of refgrad: operators/diag, wrong error.
# `diag(a)` has a gradient at a = [[], []]; mlx 0.32.4 raises ValueError: [scatter] Updates with shape (0,1,1) are too
# large for array with shape (2,0).
# Violated (MUST): diag: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.zeros((2, 0)), dtype=mx.float64)


def program_b(a):
    return mx.diag(a, 0)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.zeros((0,)), dtype=mx.float64))
