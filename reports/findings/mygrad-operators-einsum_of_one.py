# A finding of refgrad on mygrad, version 2.5.0: operators/einsum_of_one is unexpected-error.
# einsum_of_one: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[0] {}`: raised KeyError: 'i'

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.zeros((0, 0)), constant=not True)
b = mg.einsum('ii->i', a)
b.backward(np.zeros((0,)))
