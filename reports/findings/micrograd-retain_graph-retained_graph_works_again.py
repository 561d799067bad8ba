# A finding of refgrad on micrograd, version 0.1.0: retain_graph/retained_graph_works_again is wrong.
# A graph that was kept can be walked again and gives the same gradient.
# Found: step 7, `read grad x`: the gradient of x is -1.1851851851851851, but the truth is -0.59259259259259259
# (relative error 1.0e+00, 7.96e+14 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
a = x ** -1
l = a ** 2
l.backward()
setattr(x, 'grad', 0)
l.backward()
print(x.grad)  # gradient of x
