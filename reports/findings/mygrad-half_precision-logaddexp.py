# A finding of refgrad: half_precision/logaddexp, wrong first derivative.
# The gradient of `logaddexp(a, b)` with respect to `b` at a = 5.1640625, b = -6.0 is 1.41743e-05; mygrad 2.5.0 gives
# 0.
# Violated (SHOULD): logaddexp: in float16 and bfloat16, as far as it is offered in them, value and gradient are
# right.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import mygrad as mg

a = mg.tensor(np.array(5.1640625, dtype=np.float16), constant=True)
b = mg.tensor(np.array(-6.0, dtype=np.float16))
c = mg.logaddexp(a, b)
c.backward()
got = float(b.grad)
assert math.isclose(got, 1.4174348445529376e-05, rel_tol=0.1), f"the gradient of b is {got}, but it should be 1.4174348445529376e-05"
