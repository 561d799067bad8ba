"""SmallPebble 3.0.5: gradients that are wrong, or take exponential time. Nothing of refgrad is imported."""

import time

import numpy as np
import smallpebble as sp

a, b = sp.Variable(np.array([1.0, 2.0])), sp.Variable(np.array([7.0]))
found = sp.get_gradients(sp.setat(a, np.array([0]), b))
print("setat, gradient of what is written:", found[b].tolist(), "due [1.0]")
a, b = sp.Variable(np.eye(2)), sp.Variable(np.array([1.0, 2.0]))
try:
    sp.get_gradients(sp.matmul(a, b))
except ValueError as error:
    print("matrix times vector, gradient:", error)


def seconds(depth):
    """Return the seconds of a backward through so many doublings."""
    y = sp.Variable(np.array(1.0))
    for _ in range(depth):
        y = y + y
    begun = time.process_time()
    sp.get_gradients(y)
    return time.process_time() - begun


print("y + y fourteen times takes more than five times as long as ten times:", seconds(14) > 5 * seconds(10))
