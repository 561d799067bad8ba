# A finding of refgrad on micrograd, version 0.1.0: lifecycles/random is wrong.
# Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step shows what it
# must, and fails where it must.
# Found: step 4, `read grad a`: the gradient of a is 1.0, but the truth is 2.0000000000000000 (relative error 5.0e-01,
# 4.5e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

a = Value(1.0)
a.backward()
a.backward()
print(a.grad)  # gradient of a
