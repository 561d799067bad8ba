# A finding of refgrad on mygrad, version 2.5.0: half_precision/logaddexp is wrong.
# logaddexp: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found: step 5, `read grad b`: the gradient of b is 0.0, but the truth is 1.4174348445529376e-5 (relative error
# 1.0e+00, 53.2 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

a = np.array(5.1640625, dtype=np.float16) if np.array(5.1640625, dtype=np.float16).dtype == bool else mg.tensor(np.array(5.1640625, dtype=np.float16), constant=True)
b = mg.tensor(np.array(-6.0, dtype=np.float16), constant=not True)
c = mg.logaddexp(a, b)
c.backward(None)
print(b.grad, np.asarray(b.grad).dtype)  # gradient of b
