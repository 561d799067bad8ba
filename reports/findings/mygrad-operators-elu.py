# A finding of refgrad on mygrad, version 2.5.0: operators/elu is inaccurate.
# elu: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is entry (1,): -0.029554426670074463, but the truth is
# -0.029554465800757383 (relative error 1.3e-06, 7.29 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array([1.0, -0.029999999329447746], dtype=np.float32), constant=not True)
b = activations.elu(a, 1.0)
b.backward(np.array([1.0, 1.0], dtype=np.float32))
print(np.asarray(b), np.asarray(np.asarray(b)).dtype)  # value of b
