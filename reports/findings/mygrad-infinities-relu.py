# A finding of refgrad on mygrad, version 2.5.0: infinities/relu is wrong.
# relu: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found: step 5, `read value a1`: the value of a1 is entry (0, 2): nan, but the truth is 0.0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

x1 = mg.tensor(np.array([[0.068, -0.57, -np.inf], [-1.18, -0.14, 0.5]]), constant=not True)
a1 = activations.relu(x1)
a1.backward(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]))
print(x1.grad)  # gradient of x1
print(np.asarray(a1))  # value of a1
print(np.asarray(x1))  # value of x1
