# A finding of refgrad: operators/softmax, wrong first derivative.
# The gradient of `softmax(a)` with respect to `a` at a = [3.096, -2.893, -1.141] in entry [0] is
# -0.0002418721222354969; mlx 0.32.4 gives -0.00024186951476057317.
# Violated (MUST): softmax: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([3.096, -2.893, -1.141]), dtype=mx.float64)


def program_b(a):
    return nn.softmax(a, axis=-1)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array([1.862, -1.1, 2.393]), dtype=mx.float64))
got = float(gradient_of_a[0])
assert math.isclose(got, -0.0002418721222354969, rel_tol=1e-06), f"the gradient of a at [0] is {got}, but it should be -0.0002418721222354969"
