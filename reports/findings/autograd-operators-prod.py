# A finding of refgrad: operators/prod, missing.
# The gradient of `prod(a)` with respect to `a` at a = 0.0 is 1; autograd 1.9.1 gives nan.
# Violated (MUST): prod: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import math
import autograd
import autograd.numpy as np

a = np.array(0.0)


def program_b(a):
    return np.prod(a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array(1.0))
got = float(gradient_of_a)
assert math.isclose(got, 1.0, rel_tol=1e-06), f"the gradient of a is {got}, but it should be 1.0"
