# A finding of refgrad: operators/log_softmax, crash or hang.
# mlx 0.32.4: the process was ended by signal 11 (SIGSEGV).
# Violated (MUST): log_softmax: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import mlx.core as mx
import mlx.nn as nn

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


def as_numpy(x):  # NumPy has no bfloat16
    return np.array(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x)


x1 = mx.array(np.array([[1.0]]), dtype=mx.float64)
a1 = nn.log_softmax(x1, axis=-1)


def program_a1(x1):
    return nn.log_softmax(x1, axis=-1)


output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(mx.array(np.array([[1.0]]), dtype=mx.float64))
print(as_numpy(a1))  # value of a1
