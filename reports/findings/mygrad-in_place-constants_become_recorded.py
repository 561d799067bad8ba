# A finding of refgrad: in_place/constants_become_recorded, missing.
# At the end of the program, there is a gradient of `multiply(b, b)` with respect to `x`; mygrad 2.5.0 gives none.
# Violated (MUST): A constant onto which something is written that requires grad requires grad from then on.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

x = mg.tensor(1.5)
b = mg.tensor([0.0, 0.0], constant=True)
y = mg.exp(x)
z = mg.sin(x)
b[0] = y
b[1] = z
l = mg.multiply(b, b)
l.backward(np.array([1.0, -1.5]))
got = x.grad
assert got is not None, "the gradient of x is missing"
