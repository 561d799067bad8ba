# A finding of refgrad: operators/tile, wrong first derivative.
# The gradient of `tile(a, reps=(2,))` with respect to `a` at a = [[1.0], [1.0]] in entry [0, 0] is 2; autograd 1.9.1
# gives 3.
# Violated (MUST): tile: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import math
import autograd
import autograd.numpy as np

a = np.array([[1.0], [1.0]])


def program_b(a):
    return np.tile(a, (2,))


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array([[1.0, 1.0], [2.0, 1.0]]))
got = float(gradient_of_a[0, 0])
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of a at [0, 0] is {got}, but it should be 2.0"
