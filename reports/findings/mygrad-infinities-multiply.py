# A finding of refgrad: infinities/multiply, wrong first derivative.
# The gradient of `multiply(x1, x2)` with respect to `x1` in entry [0, 1] is -10.6316; mygrad 2.5.0 gives nan.
# Violated (SHOULD): multiply: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mygrad as mg

x1 = mg.tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]))
x2 = mg.tensor([[8.044, -3.797, 4.597], [7.977, 3.68, -0.557]])
a1 = mg.multiply_sequence(x1, x2)
a1.backward(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]]))
got = float(x1.grad[0, 1])
assert math.isclose(got, -10.6316, rel_tol=1e-06), f"the gradient of x1 at [0, 1] is {got}, but it should be -10.6316"
