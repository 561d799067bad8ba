# A finding of refgrad: infinities/relu, wrong value.
# `relu(x1)` in entry [0, 2] is 0; mygrad 2.5.0 gives nan.
# Violated (SHOULD): relu: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg
from mygrad.nnet import activations

x1 = mg.tensor(np.array([[0.068, -0.57, -np.inf], [-1.18, -0.14, 0.5]]))
a1 = activations.relu(x1)
a1.backward(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]))
got = float(a1[0, 2])
assert abs(got) < 1e-12, f"the value of a1 at [0, 2] is {got}, but it should be 0.0"
