# A finding of refgrad: operators/erfinv, wrong value.
# `erfinv(a)` at a = -1e-160 is -8.86227e-161; mlx 0.32.4 gives 0.
# Violated (MUST): erfinv: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(-1e-160), dtype=mx.float64)
b = mx.erfinv(a)


def program_b(a):
    return mx.erfinv(a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array(1.0), dtype=mx.float64))
got = float(b)
assert math.isclose(got, -8.86226925452758e-161, rel_tol=0.001), f"the value of b is {got}, but it should be -8.86226925452758e-161"
