# A finding of refgrad: operators/addmm, inaccurate.
# The gradient of `addmm(a, b, b, beta=1.2)` with respect to `a` at a = [[1.0]], b = [[1.0]] in entry [0, 0] is 1.2;
# mlx 0.32.4 gives 1.2000000476837158.
# Violated (SHOULD): addmm: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([[1.0]]), dtype=mx.float64)
b = mx.array(np.array([[1.0]]), dtype=mx.float64)


def program_c(a):
    return mx.addmm(a, b, b, 1.0, 1.2)


output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(mx.array(np.array([[1.0]]), dtype=mx.float64))
got = float(gradient_of_a[0, 0])
assert math.isclose(got, 1.2, rel_tol=1e-09), f"the gradient of a at [0, 0] is {got}, but it should be 1.2"
