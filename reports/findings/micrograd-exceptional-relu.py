# A finding of refgrad: exceptional/relu, wrong value.
# `relu(x1)` at x1 = -inf is 0.068; micrograd 0.1.0 gives 0.
# Violated (MUST): relu: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on micrograd 0.1.0, Python 3.11.7.

import math
from micrograd.engine import Value

x1 = Value(float("-inf"))
a1 = x1.relu()
a1.backward()
got = float(a1.data)
assert math.isclose(got, 0.068, rel_tol=0.001), f"the value of a1 is {got}, but it should be 0.068"
