# A finding of refgrad: infinities/i1e, wrong first derivative.
# The gradient of `i1e(x1)` with respect to `x1` in entry [0, 1] is 0; autograd 1.9.1 gives nan.
# Violated (SHOULD): i1e: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
from autograd.scipy import special

x1 = np.array([[0.068, np.inf, 1.703], [-1.18, -0.14, 0.5]])


def program_a1(x1):
    return special.ive(1, x1)


pullback_of_a1, output_a1 = autograd.make_vjp(program_a1, (0,))(x1)
[gradient_of_x1] = pullback_of_a1(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]))
got = float(gradient_of_x1[0, 1])
assert abs(got) < 1e-12, f"the gradient of x1 at [0, 1] is {got}, but it should be 0.0"
