# A finding of refgrad: operators/gelu, wrong first derivative.
# The gradient of `gelu(a)` with respect to `a` at a = -4.0 is -0.0005036496612264215; mlx 0.32.4 gives
# -0.0005036410749074534.
# Violated (MUST): gelu: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(-4.0), dtype=mx.float64)


def program_b(a):
    return nn.gelu(a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert math.isclose(got, -0.0005036496612264215, rel_tol=1e-06), f"the gradient of a is {got}, but it should be -0.0005036496612264215"
