# A finding of refgrad on micrograd, version 0.1.0: retain_graph/only_what_was_walked_is_freed is wrong.
# A backward frees what it walked, and nothing beside it.
# Found: step 9, `read grad x`: the gradient of x is -1.7777777777777777, but the truth is -1.1851851851851852
# (relative error 5.0e-01, 4e+14 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
s = -x
a = s ** 2
b = a ** -1
d = s ** -1
l = d ** 2
b.backward()
l.backward()
print(x.grad)  # gradient of x
