# A finding of refgrad: operators/logsumexp, inaccurate.
# The gradient of `logsumexp(a)` with respect to `a` at a = [1.0, 2.0] in entry [0] is 0.2689414213699951; mlx 0.32.4
# gives 0.2689414262600511.
# Violated (SHOULD): logsumexp: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([1.0, 2.0]), dtype=mx.float64)


def program_b(a):
    return mx.logsumexp(a, axis=None, keepdims=False)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a[0])
assert math.isclose(got, 0.2689414213699951, rel_tol=1e-09), f"the gradient of a at [0] is {got}, but it should be 0.2689414213699951"
