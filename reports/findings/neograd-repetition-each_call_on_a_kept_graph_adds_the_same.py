# A finding of refgrad: repetition/each_call_on_a_kept_graph_adds_the_same, other rule broken.
# neograd 0.0.4: 500 backward calls on one kept graph: what a call adds is 20.0, but it should be 7.0, in 499 of 500
# runs.
# Violated (MUST): Each of 500 backward calls on one kept graph adds the same to the leaf.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng


def number(array):
    return None if array is None else float(np.asarray(array).reshape(()))


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x, before = (ng.tensor(3.0, requires_grad=True), 0.0)
    y = ng.add(ng.mul(x, x), x)
    for _ in range(500):
        y.backward(retain_graph=True)
        total = number(None if x.grad is None or type(x.grad) is float else x.grad)
        note('what a call adds', None if total is None else number(total) - before)
        before = total or 0.0
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


due = {'what a call adds': 7.0}
for label, counts in attempt():
    for got, _ in counts:
        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"
