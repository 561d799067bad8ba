# A finding of refgrad: dtypes/mixed_dtypes_return_to_their_leaves, other rule broken.
# The gradient of `multiply(x, y)` with respect to `x` of float32 and float64 is of float32; smallpebble 3.0.5 gives
# float64.
# Violated (SHOULD): Where leaves of two dtypes meet, each gradient has the dtype of its own leaf.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


x = sp.Variable(np.array([1.5, -0.5], dtype=np.float32))
y = sp.Variable(np.array([2.5, 3.0]))


def program_a(x, y):
    return x * y


output_a, pullback_of_a = vjp(program_a, [x, y])
gradient_of_x, gradient_of_y = pullback_of_a(np.array([1.0, 3.0]))
got = (gradient_of_x if isinstance(gradient_of_x, np.ndarray) else gradient_of_x.array).dtype
assert got == np.float32, f"the gradient of x has the dtype {got}, but it should be float32"
