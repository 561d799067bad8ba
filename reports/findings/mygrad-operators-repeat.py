# A finding of refgrad on mygrad, version 2.5.0: operators/repeat is unexpected-error.
# repeat: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[0] {}`: raised ValueError: Each size of the window-shape must fit within the
# trailing dimensions of `arr`.(1,) does not fit in (0,)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.zeros((0,)), constant=not True)
b = mg.repeat(a, 1, None)
b.backward(np.zeros((0,)))
