# A finding of refgrad on micrograd, version 0.1.0: accumulation/losses_in_either_order is wrong.
# Two losses over a shared part give the same gradient in either order.
# Found: step 7, `read grad x`: the gradient of x is -0.7407407407407407, but the truth is -0.14814814814814815
# (relative error 4.0e+00, 1.92e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
s = x ** -1
a = s ** 2
b = -s
a.backward()
b.backward()
print(x.grad)  # gradient of x
