# A finding of refgrad: operators/embedding, crash or hang.
# mlx 0.32.4: the process was ended by signal 8 (SIGFPE).
# Violated (MUST): embedding: value and gradient are right, for any shape, attribute and seed.
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


def integers(indices):
    return mx.array(np.array(indices, dtype=np.int64))


a = mx.array(np.zeros((2, 0)), dtype=mx.float64)


def program_b(a):
    return a[integers((0,))]


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(mx.array(np.zeros((1, 0)), dtype=mx.float64))
print(as_numpy(gradient_of_a))  # gradient of a
