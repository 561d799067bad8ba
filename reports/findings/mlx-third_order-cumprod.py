# A finding of refgrad: third_order/cumprod, wrong higher derivative.
# The gradient of `d/da [d/dc [multiply(cumprod(a), c)]]` with respect to `a` at a = [1.0, 1.0], c = 1.0 in entry [0]
# is 1; mlx 0.32.4 gives 0.
# Violated (SHOULD): cumprod: its second derivatives can be differentiated, and the third ones are right.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([1.0, 1.0]), dtype=mx.float64)
c = mx.array(np.array(1.0), dtype=mx.float64)


def program_d(c):
    b = mx.cumprod(a, axis=0)
    return mx.multiply(b, c)


output_d, pullback_of_d = vjp(program_d, [c])


def program_e(a):
    b = mx.cumprod(a, axis=0)
    d = mx.multiply(b, c)

    def program_d_2(c):
        b = mx.cumprod(a, axis=0)
        return mx.multiply(b, c)
    output_d_2, pullback_of_d_2 = vjp(program_d_2, [c])
    return pullback_of_d_2(mx.array(np.array([1.0, 1.0]), dtype=mx.float64))[0]


output_e, pullback_of_e = vjp(program_e, [a])


def program_f(a, c):
    b = mx.cumprod(a, axis=0)
    d = mx.multiply(b, c)

    def program_d_3(c):
        b = mx.cumprod(a, axis=0)
        return mx.multiply(b, c)
    output_d_3, pullback_of_d_3 = vjp(program_d_3, [c])
    e = pullback_of_d_3(mx.array(np.array([1.0, 1.0]), dtype=mx.float64))[0]

    def program_e_2(a):
        b = mx.cumprod(a, axis=0)
        d = mx.multiply(b, c)

        def program_d_4(c):
            b = mx.cumprod(a, axis=0)
            return mx.multiply(b, c)
        output_d_4, pullback_of_d_4 = vjp(program_d_4, [c])
        return pullback_of_d_4(mx.array(np.array([1.0, 1.0]), dtype=mx.float64))[0]
    output_e_2, pullback_of_e_2 = vjp(program_e_2, [a])
    return pullback_of_e_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_f, pullback_of_f = vjp(program_f, [a, c])
gradient_of_a, gradient_of_c = pullback_of_f(mx.array(np.array([1.0, 1.0]), dtype=mx.float64))
got = float(gradient_of_a[0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of a at [0] is {got}, but it should be 1.0"
