# A finding of refgrad on mygrad, version 2.5.0: edges/l2_norm is missing.
# l2_norm: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is in [-1, 1]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

def flattened(x, axis):  # norms take one axis, or a matrix
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % x.ndim for a in axes)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    size = math.prod(x.shape[a] for a in axes)
    return mg.reshape(mg.transpose(x, *(rest + axes)), (*[x.shape[a] for a in rest], size)), kept

def l2_norm(x, axis, keepdims):
    flat, kept = flattened(x, axis)
    length = mg.linalg.norm(flat, axis=-1)
    return mg.reshape(length, kept) if keepdims else length

a = mg.tensor(np.array(-0.0), constant=not True)
b = l2_norm(a, None, False)
b.backward(None)
print(a.grad)  # gradient of a
