# A finding of refgrad: repetition/same_programs_give_the_same, wrong error.
# neograd 0.0.4: three programs in turn, 300 times, with the garbage collector now and then: raised KeyError:
# Tensor(9.0, requires_grad=True).
# Violated (MUST): A program that is run hundreds of times, with others in between and after garbage collections,
# gives the right numbers every time.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng
import gc


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
    for k in range(300):
        if k % 50 == 0:
            gc.collect()
        value, gradient = slope(3)
        note('the value, less x * x + x', less(value, 3 * 3 + 3))
        note('the gradient, less 2 * x + 1', less(gradient, 2 * 3 + 1))
        value, gradient = slope(5)
        note('the value, less x * x + x', less(value, 5 * 5 + 5))
        note('the gradient, less 2 * x + 1', less(gradient, 2 * 5 + 1))
        value, gradient = slope(7)
        note('the value, less x * x + x', less(value, 7 * 7 + 7))
        note('the gradient, less 2 * x + 1', less(gradient, 2 * 7 + 1))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
