# A finding of refgrad: leaves/leaf_as_output, wrong error.
# `x` has a gradient at x = 1.5; neograd 0.0.4 raises AttributeError: 'NoneType' object has no attribute 'backward'.
# Violated (MUST): A backward that starts at a leaf gives the leaf the seed.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng

x = ng.tensor(1.5, requires_grad=True)
x.backward()
