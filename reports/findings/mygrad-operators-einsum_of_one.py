# A finding of refgrad: operators/einsum_of_one, wrong error.
# `einsum_of_one(a, subscripts='ii->i')` has a gradient at a = []; mygrad 2.5.0 raises KeyError: 'i'.
# Violated (MUST): einsum_of_one: value and gradient are right, for any shape, attribute and seed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = mg.tensor(np.zeros((0, 0)))
b = mg.einsum('ii->i', a)
b.backward(np.zeros((0,)))
