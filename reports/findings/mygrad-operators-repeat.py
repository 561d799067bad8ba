# A finding of refgrad: operators/repeat, wrong error.
# `repeat(a, repeats=1)` has a gradient at a = []; mygrad 2.5.0 raises ValueError: Each size of the window-shape must
# fit within the trailing dimensions of `arr`.(1,) does not fit in (0,).
# Violated (MUST): repeat: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = mg.tensor(np.zeros((0,)))
b = mg.repeat(a, 1, None)
b.backward(np.zeros((0,)))
