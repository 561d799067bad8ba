# A finding of refgrad: operators/diag, wrong first derivative.
# The gradient of `diag(a)` with respect to `a` at a = [[1.0, 1.0]] in entry [0, 1] is 0; autograd 1.9.1 gives 1.
# Violated (MUST): diag: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np

a = np.array([[1.0, 1.0]])


def program_b(a):
    return np.diag(a, 0)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array([1.0]))
got = float(gradient_of_a[0, 1])
assert abs(got) < 0.001, f"the gradient of a at [0, 1] is {got}, but it should be 0.0"
