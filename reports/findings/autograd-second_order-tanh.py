# A finding of refgrad: second_order/tanh, wrong higher derivative.
# The gradient of `d/da [tanh(a)]` with respect to `a` at a = 800.0 is 0; autograd 1.9.1 gives nan.
# Violated (MUST): tanh: its gradient can be differentiated, and the second derivatives are right.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np


def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback


a = np.array(800.0)


def program_b(a):
    return np.tanh(a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)


def program_c(a):
    b = np.tanh(a)

    def program_b_2(a):
        return np.tanh(a)
    output_b_2, pullback_of_b_2 = vjp(program_b_2, [a])
    return pullback_of_b_2(np.array(1.0))[0]


pullback_of_c, output_c = autograd.make_vjp(program_c, (0,))(a)
[gradient_of_a] = pullback_of_c(np.array(1.0))
got = float(gradient_of_a)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
