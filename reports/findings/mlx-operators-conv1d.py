# A finding of refgrad: operators/conv1d, inaccurate.
# The gradient of `conv1d(a, b, c)` with respect to `a` at a = [[1.0]], b = [[[1.6]]], c = [1.0] in entry [0, 0] is
# 1.6; mlx 0.32.4 gives 1.600000023841858.
# Violated (SHOULD): conv1d: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


def convolution(x, weight, bias, stride, padding, dilation):  # channels come last, and a batch is no choice
    axes = weight.ndim - 2
    many = x if x.ndim == axes + 2 else x[None]
    last, first = [0, *range(2, axes + 2), 1], [0, axes + 1, *range(1, axes + 1)]
    groups = many.shape[1] // weight.shape[1]
    found = mx.conv_general(mx.transpose(many, last), mx.transpose(weight, last), stride, padding, dilation, groups=groups)
    found = mx.transpose(found + bias, first)
    return found if x.ndim == axes + 2 else found[0]


a = mx.array(np.array([[1.0]]), dtype=mx.float64)
b = mx.array(np.array([[[1.6]]]), dtype=mx.float64)
c = mx.array(np.array([1.0]), dtype=mx.float64)


def program_d(a):
    return convolution(a, b, c, [1], [0], [1])


output_d, pullback_of_d = vjp(program_d, [a])
[gradient_of_a] = pullback_of_d(mx.array(np.array([[1.0]]), dtype=mx.float64))
got = float(gradient_of_a[0, 0])
assert math.isclose(got, 1.6, rel_tol=1e-09), f"the gradient of a at [0, 0] is {got}, but it should be 1.6"
