# A finding of refgrad: operators/elu, inaccurate.
# `elu(a)` at a = -0.03099999949336052 is -0.03052442643279945; mygrad 2.5.0 gives -0.0305244264327994.
# Violated (SHOULD): elu: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import mygrad as mg
from mygrad.nnet import activations

a = mg.tensor(-0.03099999949336052)
b = activations.elu(a, 1.0)
b.backward()
got = float(b)
assert math.isclose(got, -0.03052442643279945, rel_tol=7e-16), f"the value of b is {got}, but it should be -0.03052442643279945"
