# A finding of refgrad on mygrad, version 2.5.0: operators/where_number is wrong.
# where_number: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `read value c`: the value of c has the dtype float64, but it should be float32

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = np.array(True) if np.array(True).dtype == bool else mg.tensor(np.array(True), constant=True)
b = mg.tensor(np.array(1.0, dtype=np.float32), constant=not True)
c = mg.where(a, b, 0.0)
c.backward(None)
print(np.asarray(c), np.asarray(np.asarray(c)).dtype)  # value of c
