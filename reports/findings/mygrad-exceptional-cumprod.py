# A finding of refgrad on mygrad, version 2.5.0: exceptional/cumprod is wrong.
# cumprod: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number and -0.0 are
# numbers like others.
# Found: step 4, `read grad x1`: the gradient of x1 is entry (1, 1): 1.2739999999999998, but the truth is
# -2.1753299999999997 (relative error 1.6e+00, 1.65e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

x1 = mg.tensor(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]), constant=not True)
a1 = mg.cumprod(x1, axis=-1)
a1.backward(np.array([[-1.497, 2.459, 2.897], [1.862, 2.413, -1.139]]))
print(x1.grad)  # gradient of x1
print(np.asarray(a1))  # value of a1
print(np.asarray(x1))  # value of x1
