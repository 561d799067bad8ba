# A finding of refgrad: exceptional/cbrt, wrong first derivative.
# The gradient of `cbrt(x1)` with respect to `x1` in entry [0, 1] is 4.74891e+204; mygrad 2.5.0 gives inf.
# Violated (MUST): cbrt: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mygrad as mg

x1 = mg.tensor([[-1.517, 1.1125369292536007e-308, -0.727], [-2.121, -1.618, -1.308]])
a1 = mg.cbrt(x1)
a1.backward(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]))
got = float(x1.grad[0, 1])
assert math.isclose(got, 4.7489121629070856e+204, rel_tol=1e-06), f"the gradient of x1 at [0, 1] is {got}, but it should be 4.7489121629070856e+204"
