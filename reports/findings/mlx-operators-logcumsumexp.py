# A finding of refgrad: operators/logcumsumexp, inaccurate.
# The gradient of `logcumsumexp(a)` with respect to `a` at a = [1.0, 1.0] in entry [0] is 3.2; mlx 0.32.4 gives
# 3.1999998092651367.
# Violated (SHOULD): logcumsumexp: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([1.0, 1.0]), dtype=mx.float64)


def program_b(a):
    return mx.logcumsumexp(a, axis=0)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array([2.0, 2.4]), dtype=mx.float64))
got = float(gradient_of_a[0])
assert math.isclose(got, 3.2, rel_tol=1e-09), f"the gradient of a at [0] is {got}, but it should be 3.2"
