# A finding of refgrad: operators/convolve, wrong error.
# `convolve(a, b, mode='same')` has a gradient at a = [1.0], b = [1.0, 1.0]; autograd 1.9.1 raises ValueError:
# operands could not be broadcast together with shapes (2,) (3,) (2,) .
# Violated (MUST): convolve: value and gradient are right, for any shape, attribute and seed.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
import autograd.scipy.signal

a = np.array([1.0])
b = np.array([1.0, 1.0])


def program_c(b):
    return autograd.scipy.signal.convolve(a, b, mode='same')


pullback_of_c, output_c = autograd.make_vjp(program_c, (0,))(b)
[gradient_of_b] = pullback_of_c(np.array([1.0, 1.0]))
