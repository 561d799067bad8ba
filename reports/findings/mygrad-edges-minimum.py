# A finding of refgrad on mygrad, version 2.5.0: edges/minimum is wrong.
# minimum: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is 0.0, no choice that is legal at the kinks: moving a by 1 changes
# the output by 0 according to it, but the truth is 1

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = mg.tensor(np.array(1.0), constant=not True)
b = mg.minimum(a, a)
b.backward(None)
print(a.grad)  # gradient of a
