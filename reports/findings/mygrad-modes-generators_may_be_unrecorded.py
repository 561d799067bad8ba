# A finding of refgrad: modes/generators_may_be_unrecorded, other rule broken.
# mygrad 2.5.0: a generator in which nothing is recorded: the gradient of what was made inside is 7.0, but it should
# be 0.0.
# Violated (SHOULD): A generator that is made one in which nothing is recorded records nothing in its body, and leaves
# the mode as it is between its values.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg


def note(label, array):
    counts = noted.setdefault(label, {})
    counts[None if array is None else float(np.asarray(array).reshape(()))] = counts.get(None if array is None else float(np.asarray(array).reshape(())), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x = mg.tensor(3.0)

    def gradient_of(y):
        try:
            y.backward()
        except Exception:
            pass
        return x.grad

    def forward():
        return mg.add(mg.multiply(x, x), x)

    def work():
        y = forward()
        yield y
        yield forward()
    generator = mg.no_autodiff(work)()
    y = next(generator)
    generator.close()
    note('the gradient of what was made inside', gradient_of(y))
    note('the gradient of what was made behind', gradient_of(forward()))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


due = {'the gradient of what was made inside': 0.0, 'the gradient of what was made behind': 7.0}
for label, counts in attempt():
    for got, _ in counts:
        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"
