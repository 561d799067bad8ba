# A finding of refgrad on micrograd, version 0.1.0: graphs/several_backwards is wrong.
# Random graphs with several losses and kept graphs have the right gradients.
# Found: step 6, `read grad a`: the gradient of a is -1.0, but the truth is 0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

a = Value(1.0)
b = -a
c = -b
b.backward()
c.backward()
print(a.grad)  # gradient of a
