# A finding of refgrad: operators/where_number, other rule broken.
# `where_number(a, b)` of bool and float32 is of float32; mygrad 2.5.0 gives float64.
# Violated (MUST): where_number: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = np.array(True)
b = mg.tensor(np.array(1.0, dtype=np.float32))
c = mg.where(a, b, 0.0)
c.backward()
got = c.dtype
assert got == np.float32, f"the value of c has the dtype {got}, but it should be float32"
