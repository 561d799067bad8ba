# A finding of refgrad: repetition/long_accumulations_are_exact, wrong error.
# neograd 0.0.4: 500 graphs that add to one leaf: raised KeyError: Tensor(9.0, requires_grad=True).
# Violated (MUST): After each of 500 graphs a leaf has the sum of all that was sent to it.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def less(array, due):
    return None if array is None else (None if array is None else float(np.asarray(array).reshape(()))) - due


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x = ng.tensor(3.0, requires_grad=True)
    for k in range(1, 501):
        y = ng.add(ng.mul(x, x), x)
        y.backward()
        note('the gradient after n graphs, less 7 n', less(None if x.grad is None or type(x.grad) is float else x.grad, 7 * k))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
