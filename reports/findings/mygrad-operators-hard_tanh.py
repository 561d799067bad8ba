# A finding of refgrad on mygrad, version 2.5.0: operators/hard_tanh is wrong.
# hard_tanh: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b has the dtype float64, but it should be float32

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(2.0, dtype=np.float32), constant=not True)
b = activations.hard_tanh(a, lower_bound=0.0, upper_bound=1.0)
b.backward(None)
print(np.asarray(b), np.asarray(np.asarray(b)).dtype)  # value of b
