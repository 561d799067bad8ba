# A finding of refgrad: infinities/hard_swish, wrong first derivative.
# The gradient of `hard_swish(x1)` with respect to `x1` in entry [0, 1] is 0.71; mlx 0.32.4 gives nan.
# Violated (SHOULD): hard_swish: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


x1 = mx.array(np.array([[0.068, np.inf, 1.703], [-1.18, -0.14, 0.5]]), dtype=mx.float64)


def program_a1(x1):
    return nn.hardswish(x1)


output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(mx.array(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]), dtype=mx.float64))
got = float(gradient_of_x1[0, 1])
assert math.isclose(got, 0.71, rel_tol=1e-06), f"the gradient of x1 at [0, 1] is {got}, but it should be 0.71"
