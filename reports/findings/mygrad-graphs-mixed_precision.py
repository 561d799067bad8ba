# A finding of refgrad: graphs/mixed_precision, inaccurate.
# The gradient of `arctan2(a, b)` with respect to `a` at a = 1.0, b = 1.847000002861023 is 0.41868709032331364; mygrad
# 2.5.0 gives 0.41868710070211035.
# Violated (SHOULD): Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mygrad as mg

a = mg.tensor(1.0)
b = mg.tensor(np.array(1.847000002861023, dtype=np.float32), constant=True)
c = mg.arctan2(a, b)
c.backward()
got = float(a.grad)
assert math.isclose(got, 0.41868709032331364, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.41868709032331364"
