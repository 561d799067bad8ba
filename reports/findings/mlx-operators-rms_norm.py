# A finding of refgrad: operators/rms_norm, wrong first derivative.
# The gradient of `rms_norm(a, a, eps=0.351)` with respect to `a` in entry [7] is -0.1242619803728605; mlx 0.32.4
# gives -0.12425994873046875.
# Violated (MUST): rms_norm: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([2.0, -1.0, 3.0, 2.0, -5.0, -0.0, 4.0, -3.0, -2.0, 4.0, -3.0, 1.0, -3.0, 5.0, 3.0, -1.0, -4.0, -2.0, 0.0, 4.0, -4.0, 1.0, 2.0, 0.0, 3.0, 0.0, 5.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -2.0, -3.0, -3.0, 1.0, 2.0, -0.0]), dtype=mx.float64)


def program_b(a):
    return mx.fast.rms_norm(a, a, 0.351)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0]), dtype=mx.float64))
got = float(gradient_of_a[7])
assert math.isclose(got, -0.1242619803728605, rel_tol=1e-06), f"the gradient of a at [7] is {got}, but it should be -0.1242619803728605"
