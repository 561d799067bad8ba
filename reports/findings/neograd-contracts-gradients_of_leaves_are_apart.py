# A finding of refgrad: contracts/gradients_of_leaves_are_apart, wrong error.
# At the end of the program, `multiply(x, x)` has a gradient; neograd 0.0.4 raises KeyError: Tensor([2.25 0.25],
# requires_grad=True).
# Violated (MUST): The gradients of two leaves share no memory: what is added to one is not added to the other.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng

x = ng.tensor([1.5, -0.5], requires_grad=True)
y = ng.tensor([1.0, 2.0], requires_grad=True)
a = ng.add(x, y)
a.backward(np.array([1.0, -2.0]))
b = ng.mul(x, x)
b.backward(np.array([1.0, 1.0]))
