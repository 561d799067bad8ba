# A finding of refgrad on micrograd, version 0.1.0: accumulation/five_calls is wrong.
# The n-th backward through a retained graph adds the same gradient once more, never the total so far.
# Found: step 7, `read grad x`: the gradient of x is -1.7777777777777777, but the truth is -1.1851851851851852
# (relative error 5.0e-01, 3.98e+14 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
a = x ** -1
l = a ** 2
l.backward()
print(x.grad)  # gradient of x
l.backward()
print(x.grad)  # gradient of x
l.backward()
print(x.grad)  # gradient of x
l.backward()
print(x.grad)  # gradient of x
l.backward()
print(x.grad)  # gradient of x
