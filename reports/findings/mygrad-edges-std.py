# A finding of refgrad on mygrad, version 2.5.0: edges/std is missing.
# std: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is in [-2, 2]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(1.0), constant=not True)
b = a.std(axis=None, ddof=0, keepdims=False)
b.backward(None)
print(a.grad)  # gradient of a
