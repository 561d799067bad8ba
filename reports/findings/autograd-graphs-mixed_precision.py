# A finding of refgrad: graphs/mixed_precision, inaccurate.
# The gradient of `arctan2(a, b)` with respect to `a` at a = 1.0, b = 1.847000002861023 is 0.41868709032331364;
# autograd 1.9.1 gives 0.41868710070211035.
# Violated (SHOULD): Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import math
import autograd
import autograd.numpy as np

a = np.array(1.0)
b = np.array(1.847000002861023, dtype=np.float32)


def program_c(a):
    return np.arctan2(a, b)


pullback_of_c, output_c = autograd.make_vjp(program_c, (0,))(a)
[gradient_of_a] = pullback_of_c(np.array(1.0))
got = float(gradient_of_a)
assert math.isclose(got, 0.41868709032331364, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.41868709032331364"
