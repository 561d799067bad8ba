# A finding of refgrad: repetition/later_graphs_are_as_right_as_the_first, wrong error.
# neograd 0.0.4: 1,000 graphs in one process: raised KeyError: Tensor(1.0, requires_grad=True).
# Violated (MUST): The thousandth graph of a process is differentiated as rightly as the first.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def gradient(leaf):  # before the first backward it is the number 0
    return None if leaf.grad is None or type(leaf.grad) is float else leaf.grad


def number(array):
    return None if array is None else float(np.asarray(array).reshape(()))


def less(array, due):
    return None if array is None else (None if array is None else float(np.asarray(array).reshape(()))) - due


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()

    def slope(number):
        x = ng.tensor(np.array(float(number)), requires_grad=True)
        y = ng.add(ng.mul(x, x), x)
        y.backward()
        return (y.data, None if x.grad is None or type(x.grad) is float else x.grad)
    for k in range(1, 1001):
        value, gradient = slope(k)
        note('the value, less x * x + x', less(value, k * k + k))
        note('the gradient, less 2 * x + 1', less(gradient, 2 * k + 1))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
