# A finding of refgrad: operators/logaddexp, inaccurate.
# The gradient of `logaddexp(a, b)` with respect to `a` at a = 1.0, b = 2.0 is 0.2689414213699951; mlx 0.32.4 gives
# 0.26894142734067883.
# Violated (SHOULD): logaddexp: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(1.0), dtype=mx.float64)
b = mx.array(np.array(2.0), dtype=mx.float64)


def program_c(a):
    return mx.logaddexp(a, b)


output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert math.isclose(got, 0.2689414213699951, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.2689414213699951"
