# A finding of refgrad on mygrad, version 2.5.0: infinities/multiply is wrong.
# multiply: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found: step 5, `read grad x1`: the gradient of x1 is entry (0, 1): nan, but the truth is -10.6316

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

x1 = mg.tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]), constant=not True)
x2 = mg.tensor(np.array([[8.044, -3.797, 4.597], [7.977, 3.68, -0.557]]), constant=not True)
a1 = mg.multiply_sequence(x1, x2)
a1.backward(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]]))
print(x1.grad)  # gradient of x1
print(x2.grad)  # gradient of x2
print(np.asarray(a1))  # value of a1
print(np.asarray(x1))  # value of x1
print(np.asarray(x2))  # value of x2
