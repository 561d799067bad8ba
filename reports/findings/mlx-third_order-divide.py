# A finding of refgrad: third_order/divide, wrong higher derivative.
# The gradient of `d/db [d/da [divide(a, b)]]` with respect to `b` at a = 1.0, b = 1.0 is 2; mlx 0.32.4 gives 0.
# Violated (SHOULD): divide: its second derivatives can be differentiated, and the third ones are right.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(1.0), dtype=mx.float64)
b = mx.array(np.array(1.0), dtype=mx.float64)


def program_c(a):
    return a / b


output_c, pullback_of_c = vjp(program_c, [a])


def program_d(b):
    c = a / b

    def program_c_2(a):
        return a / b
    output_c_2, pullback_of_c_2 = vjp(program_c_2, [a])
    return pullback_of_c_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_d, pullback_of_d = vjp(program_d, [b])


def program_e(a, b):
    c = a / b

    def program_c_3(a):
        return a / b
    output_c_3, pullback_of_c_3 = vjp(program_c_3, [a])
    d = pullback_of_c_3(mx.array(np.array(1.0), dtype=mx.float64))[0]

    def program_d_2(b):
        c = a / b

        def program_c_4(a):
            return a / b
        output_c_4, pullback_of_c_4 = vjp(program_c_4, [a])
        return pullback_of_c_4(mx.array(np.array(1.0), dtype=mx.float64))[0]
    output_d_2, pullback_of_d_2 = vjp(program_d_2, [b])
    return pullback_of_d_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_e, pullback_of_e = vjp(program_e, [a, b])
gradient_of_a, gradient_of_b = pullback_of_e(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_b)
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of b is {got}, but it should be 2.0"
