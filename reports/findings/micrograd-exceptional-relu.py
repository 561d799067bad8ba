# A finding of refgrad on micrograd, version 0.1.0: exceptional/relu is wrong.
# relu: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number and -0.0 are
# numbers like others.
# Found: step 5, `read value a1`: the value of a1 is 0.0, but the truth is 0.068000000000000005 (relative error
# 1.0e+00, 4.5e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x1 = Value(float("-inf"))
a1 = x1.relu()
a1.backward()
print(x1.grad)  # gradient of x1
print(np.array(a1.data))  # value of a1
print(np.array(x1.data))  # value of x1
