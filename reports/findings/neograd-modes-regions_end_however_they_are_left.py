# A finding of refgrad: modes/regions_end_however_they_are_left, other rule broken.
# neograd 0.0.4: a region that is left by a return: the gradient of what was made behind is 6.0, but it should be 7.0.
# Violated (MUST): A region ends where it is left: by a return, by errors many times over, and with a generator that
# ends or is closed.
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

    def gradient_of(y):
        try:
            y.backward()
        except Exception:
            pass
        return None if x.grad is None or type(x.grad) is float else x.grad

    def forward():
        return ng.add(ng.mul(x, x), x)

    def work():
        with ng.no_track():
            return forward()
    y = work()
    note('the gradient of what was made inside', gradient_of(y))
    note('the gradient of what was made behind', gradient_of(forward()))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


due = {'the gradient of what was made inside': 0.0, 'the gradient of what was made behind': 7.0}
for label, counts in attempt():
    for got, _ in counts:
        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"
