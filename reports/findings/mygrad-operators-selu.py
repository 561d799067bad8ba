# A finding of refgrad: operators/selu, inaccurate.
# `selu(a)` at a = -0.003 is -0.005266394481025324; mygrad 2.5.0 gives -0.00526639448102528.
# Violated (SHOULD): selu: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import mygrad as mg
from mygrad.nnet import activations

a = mg.tensor(-0.003)
b = activations.selu(a)
b.backward()
got = float(b)
assert math.isclose(got, -0.005266394481025324, rel_tol=1e-15), f"the value of b is {got}, but it should be -0.005266394481025324"
