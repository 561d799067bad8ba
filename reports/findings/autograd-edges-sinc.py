# A finding of refgrad: edges/sinc, missing.
# The gradient of `sinc(a)` with respect to `a` at a = -0.0 is 0; autograd 1.9.1 gives nan.
# Violated (MUST): sinc: at its edges the gradient is an element of the subdifferential.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array(-0.0)


def program_b(a):
    return np.sinc(a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array(1.0))
got = float(gradient_of_a)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
