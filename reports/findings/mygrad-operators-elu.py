# A finding of refgrad on mygrad, version 2.5.0: operators/elu is inaccurate.
# elu: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is -0.0305244264327994, but the truth is -0.030524426432799451
# (relative error 1.7e-15, 5.1 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(-0.03099999949336052), constant=not True)
b = activations.elu(a, 1.0)
b.backward(None)
print(np.asarray(b))  # value of b
