# A finding of refgrad: infinities/prelu, wrong first derivative.
# The gradient of `prelu(x1, x2)` with respect to `x1` in entry [0, 2] is -0.138; mlx 0.32.4 gives nan.
# Violated (SHOULD): prelu: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


x1 = mx.array(np.array([[0.068, -0.57, 1.703], [-1.18, -0.14, 0.5]]), dtype=mx.float64)
x2 = mx.array(np.array([[1.756, 0.275, np.inf], [1.747, 1.21, 0.68]]), dtype=mx.float64)


def program_a1(x1, x2):
    return nn.prelu(x1, x2)


output_a1, pullback_of_a1 = vjp(program_a1, [x1, x2])
gradient_of_x1, gradient_of_x2 = pullback_of_a1(mx.array(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]]), dtype=mx.float64))
got = float(gradient_of_x1[0, 2])
assert math.isclose(got, -0.138, rel_tol=1e-06), f"the gradient of x1 at [0, 2] is {got}, but it should be -0.138"
