# A finding of refgrad on mygrad, version 2.5.0: graphs/one_backward is unexpected-error.
# Random graphs with sharing, fan-out and several leaves have the right gradients.
# Found: step 3, `backward b seed float64[0, 1] {}`: raised ValueError: Each size of the window-shape must fit within
# the trailing dimensions of `arr`.(1, 1) does not fit in (0, 1)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.zeros((0, 1)), constant=not True)
b = mg.repeat(a, (1,), 1)
b.backward(np.zeros((0, 1)))
