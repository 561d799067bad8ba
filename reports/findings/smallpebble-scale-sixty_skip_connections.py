# A finding of refgrad: scale/sixty_skip_connections, other rule broken.
# smallpebble 3.0.5: n layers, each added to the one before it, up to n = 20: time grows faster than n^3.
# Violated (MUST): Sixty layers, each added to the one before it, have numbers of Fibonacci as gradients, and take
# linear time.
# Found on smallpebble 3.0.5, Python 3.11.7, Linux x86_64.

import numpy as np
import smallpebble as sp
import time


def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):  # a derivative is that of the sum of all entries
        found = sp.get_gradients(sp.mul(output, sp.Variable(seed)))
        return [sp.Variable(np.asarray(found.get(x, np.zeros_like(x.array)))) for x in primals]
    return output, pullback


def attempt(n):
    leaves = [sp.Variable(np.array(number)) for number in [1.0, 1.0]]

    def function(*leaves):
        before, y = leaves
        for _ in range(n):
            before, y = y, sp.add(y, before)
        return y

    y, pullback = vjp(function, leaves)
    cotangents = pullback(np.array(1.0))
    return y if isinstance(y, np.ndarray) else y.array, [c if isinstance(c, np.ndarray) else c.array for c in cotangents]


seconds = {}
for n in (12, 16, 20):
    started = time.process_time()
    attempt(n)
    seconds[n] = time.process_time() - started
_, first, *_, last = seconds  # the first size also pays for what happens once
got = seconds[last] / seconds[first]
assert got < (last / first) ** 1.5, f"the time grows by a factor of {got:.0f} where the size grows by one of {last / first:.0f}"
