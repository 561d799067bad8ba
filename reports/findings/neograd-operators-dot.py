# A finding of refgrad: operators/dot, wrong error.
# `dot(a, b)` has a gradient at a = [[1.0, 1.0]], b = [1.0, 1.0]; neograd 0.0.4 raises ValueError: cannot reshape
# array of size 1 into shape (2,).
# Violated (MUST): dot: value and gradient are right, for any shape, attribute and seed.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng

a = ng.tensor([[1.0, 1.0]])
b = ng.tensor([1.0, 1.0], requires_grad=True)
c = ng.dot(a, b)
c.backward(np.array([1.0]))
