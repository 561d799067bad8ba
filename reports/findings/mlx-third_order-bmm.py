# A finding of refgrad: third_order/bmm, wrong higher derivative.
# The gradient of `d/da [d/db [multiply(bmm(a, b), bmm(a, b))]]` with respect to `a` at a = [[[1.0]]], b = [[[1.0]]]
# in entry [0, 0, 0] is 4; mlx 0.32.4 gives 0.
# Violated (SHOULD): bmm: its second derivatives can be differentiated, and the third ones are right.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array([[[1.0]]]), dtype=mx.float64)
b = mx.array(np.array([[[1.0]]]), dtype=mx.float64)


def program_d(b):
    c = mx.matmul(a, b)
    return c * c


output_d, pullback_of_d = vjp(program_d, [b])


def program_e(a):
    c = mx.matmul(a, b)
    d = c * c

    def program_d_2(b):
        c = mx.matmul(a, b)
        return c * c
    output_d_2, pullback_of_d_2 = vjp(program_d_2, [b])
    return pullback_of_d_2(mx.array(np.array([[[1.0]]]), dtype=mx.float64))[0]


output_e, pullback_of_e = vjp(program_e, [a])


def program_f(a, b):
    c = mx.matmul(a, b)
    d = c * c

    def program_d_3(b):
        c = mx.matmul(a, b)
        return c * c
    output_d_3, pullback_of_d_3 = vjp(program_d_3, [b])
    e = pullback_of_d_3(mx.array(np.array([[[1.0]]]), dtype=mx.float64))[0]

    def program_e_2(a):
        c = mx.matmul(a, b)
        d = c * c

        def program_d_4(b):
            c = mx.matmul(a, b)
            return c * c
        output_d_4, pullback_of_d_4 = vjp(program_d_4, [b])
        return pullback_of_d_4(mx.array(np.array([[[1.0]]]), dtype=mx.float64))[0]
    output_e_2, pullback_of_e_2 = vjp(program_e_2, [a])
    return pullback_of_e_2(mx.array(np.array([[[1.0]]]), dtype=mx.float64))[0]


output_f, pullback_of_f = vjp(program_f, [a, b])
gradient_of_a, gradient_of_b = pullback_of_f(mx.array(np.array([[[1.0]]]), dtype=mx.float64))
got = float(gradient_of_a[0, 0, 0])
assert math.isclose(got, 4.0, rel_tol=0.001), f"the gradient of a at [0, 0, 0] is {got}, but it should be 4.0"
