# A finding of refgrad: repetition/each_call_on_a_kept_graph_adds_the_same, other rule broken.
# micrograd 0.1.0: 500 backward calls on one kept graph: what a call adds is 13.0, but it should be 7.0, in 499 of 500
# runs.
# Violated (MUST): Each of 500 backward calls on one kept graph adds the same to the leaf.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import numpy as np
from micrograd.engine import Value


def number(array):
    return None if array is None else float(np.asarray(array).reshape(()))


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x, before = (Value(3.0), 0.0)
    y = x * x + x
    for _ in range(500):
        y.backward()
        total = number(x.grad)
        note('what a call adds', None if total is None else number(total) - before)
        before = total or 0.0
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


due = {'what a call adds': 7.0}
for label, counts in attempt():
    for got, _ in counts:
        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"
