# A finding of refgrad on mygrad, version 2.5.0: graphs/mixed_precision is inaccurate.
# Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found: step 5, `read grad a`: the gradient of a is 0.41868710070211035, but the truth is 0.41868709032331364
# (relative error 2.5e-08, 4.3e+07 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(1.0), constant=not True)
b = np.array(1.847000002861023, dtype=np.float32) if np.array(1.847000002861023, dtype=np.float32).dtype == bool else mg.tensor(np.array(1.847000002861023, dtype=np.float32), constant=True)
c = mg.arctan2(a, b)
c.backward(None)
print(a.grad, np.asarray(a.grad).dtype)  # gradient of a
