# A finding of refgrad on autograd, version 1.9.1: edges/l2_norm is missing.
# l2_norm: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is in [-1, 1]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import autograd
import autograd.numpy as np
import autograd.scipy.signal
from autograd.scipy import special

def vjp(function, primals):
    pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)
    return output, pullback

def flattened(x, axis):  # norms take one axis, or a matrix
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a % x.ndim for a in axes)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    size = math.prod(x.shape[a] for a in axes)
    return np.reshape(np.transpose(x, rest + axes), (*[x.shape[a] for a in rest], size)), kept

def l2_norm(x, axis, keepdims):
    flat, kept = flattened(x, axis)
    length = np.linalg.norm(flat, axis=-1)
    return np.reshape(length, kept) if keepdims else length

a = np.array(-0.0)
b = l2_norm(a, None, False)

def program_b(a):
    b = l2_norm(a, None, False)
    return b

output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(np.array(1.0))
print(np.asarray(gradient_of_a))  # gradient of a
