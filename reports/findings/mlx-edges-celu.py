# A finding of refgrad: edges/celu, wrong first derivative.
# The gradient of `celu(a)` with respect to `a` at a = -0.0 is 1; mlx 0.32.4 gives 0.
# Violated (MUST): celu: at its edges the gradient is an element of the subdifferential.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(-0.0), dtype=mx.float64)


def program_b(a):
    return nn.celu(a, 1.0)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of a is {got}, but it should be 1.0"
