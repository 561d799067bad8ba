# A finding of refgrad: operators/i0, wrong first derivative.
# The gradient of `i0(a)` with respect to `a` at a = 1e-310 is 5e-311; autograd 1.9.1 gives nan.
# Violated (MUST): i0: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
from autograd.scipy import special

a = np.array(1e-310)


def program_b(a):
    return special.iv(0, a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array(1.0))
got = float(gradient_of_a)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
