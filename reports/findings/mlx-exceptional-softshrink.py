# A finding of refgrad: exceptional/softshrink, wrong value.
# `softshrink(x1, lambd=1.059)` in entry [0, 2] is nan; mlx 0.32.4 gives 0.
# Violated (MUST): softshrink: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


x1 = mx.array(np.array([[0.068, -0.57, np.nan], [-1.18, -0.14, 0.5]]), dtype=mx.float64)
a1 = nn.softshrink(x1, 1.059)


def program_a1(x1):
    return nn.softshrink(x1, 1.059)


output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(mx.array(np.array([[0.71, -1.497, 2.459], [2.897, 1.862, 2.413]]), dtype=mx.float64))
got = float(a1[0, 2])
assert math.isnan(got), f"the value of a1 at [0, 2] is {got}, but it should be nan"
