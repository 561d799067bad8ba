# A finding of refgrad: operators/cos, wrong first derivative.
# The gradient of `cos(a)` with respect to `a` at a = -3.137 is 0.004592637444744543; mlx 0.32.4 gives
# 0.004592553246766329.
# Violated (MUST): cos: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(-3.137), dtype=mx.float64)


def program_b(a):
    return mx.cos(a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert math.isclose(got, 0.004592637444744543, rel_tol=1e-06), f"the gradient of a is {got}, but it should be 0.004592637444744543"
