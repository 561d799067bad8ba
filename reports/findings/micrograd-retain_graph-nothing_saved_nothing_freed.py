# A finding of refgrad on micrograd, version 0.1.0: retain_graph/nothing_saved_nothing_freed is wrong.
# A graph whose rules saved nothing can be walked again, kept or not.
# Found: step 6, `read grad x`: the gradient of x is 3.0, but the truth is 2.0000000000000000 (relative error 5.0e-01,
# 4.5e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
a = -x
l = -a
l.backward()
l.backward()
print(x.grad)  # gradient of x
