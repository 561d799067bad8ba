# A finding of refgrad on mygrad, version 2.5.0: in_place/constants_become_recorded is missing.
# A constant onto which something is written that requires grad requires grad from then on.
# Found: step 10, `read grad x`: the gradient of x is missing

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

def written(x, write):
    try:
        return write(x)
    except ValueError as error:
        if "read-only" in str(error):  # memory that a graph needs is guarded, until a backward has cleared that
            raise NotImplementedError(str(error)) from error
        raise

x = mg.tensor(np.array(1.5), constant=not True)
b = np.array([0.0, 0.0]) if np.array([0.0, 0.0]).dtype == bool else mg.tensor(np.array([0.0, 0.0]), constant=True)
y = mg.exp(x)
z = mg.sin(x)
written(b, lambda x: x.__setitem__((0,), y))
written(b, lambda x: x.__setitem__((1,), z))
l = mg.multiply(b, b)
l.backward(np.array([1.0, -1.5]))
print(np.asarray(b))  # value of b
print(x.grad)  # gradient of x
