# A finding of refgrad: operators/tril, crash or hang.
# mlx 0.32.4: the process was ended by signal 6 (SIGABRT).
# Violated (MUST): tril: value and gradient are right, for any shape, attribute and seed.
# Found on mlx 0.32.4, Python 3.11.7, Linux x86_64.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import mlx.core as mx

mx.set_default_device(mx.cpu)


def vjp(function, primals):
    output = function(*primals)
    return output, lambda seed: mx.vjp(lambda *x: [function(*x)], primals, [seed])[1]


def as_numpy(x):  # NumPy has no bfloat16
    return np.array(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x)


x1 = mx.array(np.zeros((2, 0)), dtype=mx.float64)
a1 = mx.tril(x1, 0)


def program_a1(x1):
    return mx.tril(x1, 0)


output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(mx.array(np.zeros((2, 0)), dtype=mx.float64))
print(as_numpy(gradient_of_x1))  # gradient of x1
print(as_numpy(a1))  # value of a1
print(as_numpy(x1))  # value of x1
