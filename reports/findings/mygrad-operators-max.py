# A finding of refgrad: operators/max, wrong error.
# `max(a, axis=(-3, 3))` has a gradient at a = []; mygrad 2.5.0 raises ValueError: cannot reshape array of size 0 into
# shape (0,2,newaxis).
# Violated (MUST): max: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = mg.tensor(np.zeros((0, 4, 2, 2)))
b = a.max(axis=(-3, 3))
b.backward(np.zeros((0, 2)))
