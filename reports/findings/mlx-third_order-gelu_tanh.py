# A finding of refgrad: third_order/gelu_tanh, wrong higher derivative.
# The gradient of `d/da [d/da [gelu_tanh(a)]]` with respect to `a` at a = 800.0 is 0; mlx 0.32.4 gives nan.
# Violated (SHOULD): gelu_tanh: its second derivatives can be differentiated, and the third ones are right.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(800.0), dtype=mx.float64)


def program_b(a):
    return nn.gelu_approx(a)


output_b, pullback_of_b = vjp(program_b, [a])


def program_c(a):
    b = nn.gelu_approx(a)

    def program_b_2(a):
        return nn.gelu_approx(a)
    output_b_2, pullback_of_b_2 = vjp(program_b_2, [a])
    return pullback_of_b_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_c, pullback_of_c = vjp(program_c, [a])


def program_d(a):
    b = nn.gelu_approx(a)

    def program_b_3(a):
        return nn.gelu_approx(a)
    output_b_3, pullback_of_b_3 = vjp(program_b_3, [a])
    c = pullback_of_b_3(mx.array(np.array(1.0), dtype=mx.float64))[0]

    def program_c_2(a):
        b = nn.gelu_approx(a)

        def program_b_4(a):
            return nn.gelu_approx(a)
        output_b_4, pullback_of_b_4 = vjp(program_b_4, [a])
        return pullback_of_b_4(mx.array(np.array(1.0), dtype=mx.float64))[0]
    output_c_2, pullback_of_c_2 = vjp(program_c_2, [a])
    return pullback_of_c_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_d, pullback_of_d = vjp(program_d, [a])
[gradient_of_a] = pullback_of_d(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
