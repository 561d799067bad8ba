# A finding of refgrad on mygrad, version 2.5.0: operators/selu is inaccurate.
# selu: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is -0.00526639448102528, but the truth is -0.0052663944810253242
# (relative error 8.4e-15, 11 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(-0.003), constant=not True)
b = activations.selu(a)
b.backward(None)
print(np.asarray(b))  # value of b
