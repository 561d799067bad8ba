# A finding of refgrad: graphs/one_backward, wrong error.
# `repeat_interleave(a, axis=1, repeats=(1,))` has a gradient at a = []; mygrad 2.5.0 raises ValueError: Each size of
# the window-shape must fit within the trailing dimensions of `arr`.(1, 1) does not fit in (0, 1).
# Violated (MUST): Random graphs with sharing, fan-out and several leaves have the right gradients.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = mg.tensor(np.zeros((0, 1)))
b = mg.repeat(a, (1,), 1)
b.backward(np.zeros((0, 1)))
