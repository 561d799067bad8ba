# A finding of refgrad on mygrad, version 2.5.0: retain_graph/reused_products_fail_in_the_second_iteration is wrong.
# A result that was computed once, before a loop, fails in the second iteration's backward.
# Found: step 10, `backward k`: carried on silently where an error is due (freed-graph)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

t = np.array([[3.0, 1.0], [0.5, -1.0]]) if np.array([[3.0, 1.0], [0.5, -1.0]]).dtype == bool else mg.tensor(np.array([[3.0, 1.0], [0.5, -1.0]]), constant=True)
v = mg.tensor(np.array([1.5, -0.5]), constant=not True)
y = mg.matmul(t, v)
a = mg.square(y)
l = mg.sum(a, axis=None, keepdims=False)
l.backward(None)
print(v.grad)  # gradient of v
b = mg.negative(y)
k = mg.sum(b, axis=None, keepdims=False)
k.backward(None)

print("no error was raised")
