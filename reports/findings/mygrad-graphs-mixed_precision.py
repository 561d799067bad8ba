# A finding of refgrad on mygrad, version 2.5.0: graphs/mixed_precision is inaccurate.
# Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found: step 5, `read grad a`: the gradient of a is -0.09769439102205166, but the truth is -0.097694389003939973
# (relative error 2.1e-08, 2.26e+07 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(2.0), constant=not True)
b = np.array(-0.2290000021457672, dtype=np.float32) if np.array(-0.2290000021457672, dtype=np.float32).dtype == bool else mg.tensor(np.array(-0.2290000021457672, dtype=np.float32), constant=True)
c = mg.power(a, b)
c.backward(None)
print(a.grad, np.asarray(a.grad).dtype)  # gradient of a
