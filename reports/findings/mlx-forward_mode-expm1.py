# A finding of refgrad: forward_mode/expm1, inaccurate.
# `jvp [expm1(a)]` at a = 1.0 is 2.718281828459045; mlx 0.32.4 gives 2.7182817459106445.
# Violated (SHOULD): expm1: forward mode gives its directional derivatives, whichever operands move.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def jvp(function, primals, tangents):
    (output,), (tangent,) = mx.jvp(lambda *x: [function(*x)], primals, tangents)
    return output, tangent


a = mx.array(np.array(1.0), dtype=mx.float64)


def function_of_c(a):
    return mx.expm1(a)


tangent_of_a = mx.array(np.array(1.0), dtype=mx.float64)
output, c = jvp(function_of_c, [a], [tangent_of_a])
got = float(c)
assert math.isclose(got, 2.718281828459045, rel_tol=1e-09), f"the value of c is {got}, but it should be 2.718281828459045"
