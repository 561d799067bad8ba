# A finding of refgrad: exceptional/softmax, wrong first derivative.
# The gradient of `softmax(x1, axis=-1)` with respect to `x1` in entry [1, 0] is 0.184488; smallpebble 3.0.5 gives
# nan.
# Violated (MUST): softmax: NaN and infinities reach what depends on them and nothing else; subnormals, the largest
# number and -0.0 are numbers like others.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import smallpebble as sp


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


x1 = sp.Variable(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]))


def program_a1(x1):
    return sp.softmax(x1, axis=-1)


output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(np.array([[2.459, 2.897, 1.862], [2.413, -1.139, 1.379]]))
got = float(gradient_of_x1.array[1, 0])
assert math.isclose(got, 0.18448844785497853, rel_tol=1e-06), f"the gradient of x1 at [1, 0] is {got}, but it should be 0.18448844785497853"
