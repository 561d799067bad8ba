# A finding of refgrad: operators/clip, other rule broken.
# `clip(a, lower=0.0, upper=1.0)` of float32 is of float32; mygrad 2.5.0 gives float64.
# Violated (MUST): clip: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = mg.tensor(np.array(2.0, dtype=np.float32))
b = mg.clip(a, 0.0, 1.0)
b.backward()
got = b.dtype
assert got == np.float32, f"the value of b has the dtype {got}, but it should be float32"
