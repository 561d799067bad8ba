# A finding of refgrad: exceptional/cumprod, wrong first derivative.
# The gradient of `cumprod(x1, axis=-1)` with respect to `x1` in entry [1, 1] is -2.17533; mygrad 2.5.0 gives 1.274.
# Violated (MUST): cumprod: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mygrad as mg

x1 = mg.tensor(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]))
a1 = mg.cumprod(x1, axis=-1)
a1.backward(np.array([[-1.497, 2.459, 2.897], [1.862, 2.413, -1.139]]))
got = float(x1.grad[1, 1])
assert math.isclose(got, -2.1753299999999998, rel_tol=0.001), f"the gradient of x1 at [1, 1] is {got}, but it should be -2.1753299999999998"
