# A finding of refgrad: operators/erf, wrong value.
# `erf(a)` at a = 0.022 is 0.024820337263768956; mlx 0.32.4 gives 0.0248205978423357.
# Violated (MUST): erf: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(0.022), dtype=mx.float64)
b = mx.erf(a)


def program_b(a):
    return mx.erf(a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array(1.0), dtype=mx.float64))
got = float(b)
assert math.isclose(got, 0.024820337263768956, rel_tol=1e-06), f"the value of b is {got}, but it should be 0.024820337263768956"
