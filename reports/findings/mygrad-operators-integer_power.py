# A finding of refgrad on mygrad, version 2.5.0: operators/integer_power is wrong.
# integer_power: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b has the dtype float64, but it should be float32

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(1.0, dtype=np.float32), constant=not True)
b = mg.power(a, 1)
b.backward(None)
print(np.asarray(b), np.asarray(np.asarray(b)).dtype)  # value of b
