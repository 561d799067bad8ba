# A finding of refgrad on mygrad, version 2.5.0: operators/max is unexpected-error.
# max: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[0, 2] {}`: raised ValueError: cannot reshape array of size 0 into shape
# (0,2,newaxis)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.zeros((0, 4, 2, 2)), constant=not True)
b = a.max(axis=(-3, 3), keepdims=False)
b.backward(np.zeros((0, 2)))
