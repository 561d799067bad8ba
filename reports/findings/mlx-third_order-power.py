# A finding of refgrad: third_order/power, wrong higher derivative.
# The gradient of `d/da [d/db [power(a, b)]]` with respect to `a` at a = 1.0, b = 2.0 is 3; mlx 0.32.4 gives 0.
# Violated (SHOULD): power: its second derivatives can be differentiated, and the third ones are right.
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


def program_c(b):
    return a ** b


output_c, pullback_of_c = vjp(program_c, [b])


def program_d(a):
    c = a ** b

    def program_c_2(b):
        return a ** b
    output_c_2, pullback_of_c_2 = vjp(program_c_2, [b])
    return pullback_of_c_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_d, pullback_of_d = vjp(program_d, [a])


def program_e(a, b):
    c = a ** b

    def program_c_3(b):
        return a ** b
    output_c_3, pullback_of_c_3 = vjp(program_c_3, [b])
    d = pullback_of_c_3(mx.array(np.array(1.0), dtype=mx.float64))[0]

    def program_d_2(a):
        c = a ** b

        def program_c_4(b):
            return a ** b
        output_c_4, pullback_of_c_4 = vjp(program_c_4, [b])
        return pullback_of_c_4(mx.array(np.array(1.0), dtype=mx.float64))[0]
    output_d_2, pullback_of_d_2 = vjp(program_d_2, [a])
    return pullback_of_d_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_e, pullback_of_e = vjp(program_e, [a, b])
gradient_of_a, gradient_of_b = pullback_of_e(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert math.isclose(got, 3.0, rel_tol=0.001), f"the gradient of a is {got}, but it should be 3.0"
