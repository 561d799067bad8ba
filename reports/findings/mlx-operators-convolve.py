# A finding of refgrad: operators/convolve, wrong value.
# `convolve(a, b, mode='same')` at a = [2.7, 0.478, -0.3], b = [0.841, -0.765, 0.228] in entry [1] is
# -0.0023699999999999104; mlx 0.32.4 gives -0.0023700296878814697.
# Violated (MUST): convolve: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([2.7, 0.478, -0.3]), dtype=mx.float64)
b = mx.array(np.array([0.841, -0.765, 0.228]), dtype=mx.float64)
c = mx.convolve(a, b, 'same')


def program_c(b):
    return mx.convolve(a, b, 'same')


output_c, pullback_of_c = vjp(program_c, [b])
[gradient_of_b] = pullback_of_c(mx.array(np.array([1.0, 1.0, 1.0]), dtype=mx.float64))
got = float(c[1])
assert math.isclose(got, -0.0023699999999999104, rel_tol=1e-06), f"the value of c at [1] is {got}, but it should be -0.0023699999999999104"
