# A finding of refgrad: operators/softmax, wrong error.
# `softmax(a, axis=0)` has a gradient at a = [[], []]; neograd 0.0.4 raises ValueError: Cannot apply_along_axis when
# any iteration dimensions are 0.
# Violated (MUST): softmax: value and gradient are right, for any shape, attribute and seed.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng
from neograd.nn.activations import Softmax

a = ng.tensor(np.zeros((2, 0)), requires_grad=True)
b = Softmax(0)(a)
b.backward(np.zeros((2, 0)))
