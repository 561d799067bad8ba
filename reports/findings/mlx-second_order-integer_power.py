# A finding of refgrad: second_order/integer_power, wrong higher derivative.
# The gradient of `d/da [integer_power(a, n=1)]` with respect to `a` at a = -5e-324 is 0; mlx 0.32.4 gives nan.
# Violated (MUST): integer_power: its gradient can be differentiated, and the second derivatives are right.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


a = mx.array(np.array(-5e-324), dtype=mx.float64)


def program_b(a):
    return a ** 1


output_b, pullback_of_b = vjp(program_b, [a])


def program_c(a):
    b = a ** 1

    def program_b_2(a):
        return a ** 1
    output_b_2, pullback_of_b_2 = vjp(program_b_2, [a])
    return pullback_of_b_2(mx.array(np.array(1.0), dtype=mx.float64))[0]


output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(mx.array(np.array(1.0), dtype=mx.float64))
got = float(gradient_of_a)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
