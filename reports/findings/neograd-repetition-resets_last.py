# A finding of refgrad: repetition/resets_last, wrong error.
# neograd 0.0.4: 500 resets of one leaf: raised KeyError: Tensor(9.0, requires_grad=True).
# Violated (MUST): After each of 500 resets a leaf has what the next graph sends, and nothing of earlier ones.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x = ng.tensor(3.0, requires_grad=True)
    for k in range(500):
        x.zero_grad()
        y = ng.add(ng.mul(x, x), x)
        y.backward()
        note('the gradient after every reset', None if x.grad is None or type(x.grad) is float else x.grad)
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
