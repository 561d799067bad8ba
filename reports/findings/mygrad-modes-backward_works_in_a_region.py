# A finding of refgrad on mygrad, version 2.5.0: modes/backward_works_in_a_region is missing.
# A backward in a no_grad region walks what was recorded before it, and adds to the leaves.
# Found: step 5, `read grad x`: the gradient of x is missing

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

x = mg.tensor(np.array(1.5), constant=not True)
a = mg.exp(x)
with mg.no_autodiff:
    a.backward(None)
    print(x.grad)  # gradient of x
