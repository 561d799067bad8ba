# A finding of refgrad on mygrad, version 2.5.0: exceptional/cbrt is wrong.
# cbrt: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number and -0.0 are
# numbers like others.
# Found: step 4, `read grad x1`: the gradient of x1 is entry (0, 1): inf, but the truth is 4.7489121629070854e+204
# (relative error inf)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

x1 = mg.tensor(np.array([[-1.517, 1.1125369292536007e-308, -0.727], [-2.121, -1.618, -1.308]]), constant=not True)
a1 = mg.cbrt(x1)
a1.backward(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]))
print(x1.grad)  # gradient of x1
print(np.asarray(a1))  # value of a1
print(np.asarray(x1))  # value of x1
