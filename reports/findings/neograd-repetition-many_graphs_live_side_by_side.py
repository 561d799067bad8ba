# A finding of refgrad: repetition/many_graphs_live_side_by_side, wrong error.
# neograd 0.0.4: many graphs, walked in another order than they were made: raised KeyError: Tensor(90000.0,
# requires_grad=True).
# Violated (MUST): Many graphs that are alive at once can be differentiated in any order.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def gradient(leaf):  # before the first backward it is the number 0
    return None if leaf.grad is None or type(leaf.grad) is float else leaf.grad


def less(array, due):
    return None if array is None else (None if array is None else float(np.asarray(array).reshape(()))) - due


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()
    leaves = [ng.tensor(np.array(float(k)), requires_grad=True) for k in range(1, 301)]
    outputs = [ng.add(ng.mul(x, x), x) for x in leaves]
    order = [*range(299, 149, -1), *range(150)]
    for k in order:
        outputs[k].backward()
    for k in order:
        note('the gradient, less 2 * x + 1', less(gradient(leaves[k]), 2 * (k + 1) + 1))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
