# A finding of refgrad: edges/i0e, missing.
# The gradient of `i0e(a)` with respect to `a` at a = -0.0 is between -1 and 1; autograd 1.9.1 gives nan.
# Violated (MUST): i0e: at its edges the gradient is an element of the subdifferential.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
from autograd.scipy import special

a = np.array(-0.0)


def program_b(a):
    return special.ive(0, a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array(1.0))
got = float(gradient_of_a)
assert -1.0 <= got <= 1.0, f"the gradient of a is {got}, but it should be between -1.0 and 1.0"
