# A finding of refgrad: modes/functions_may_be_unrecorded, missing.
# paddle 3.3.1: a function in which nothing is recorded, and that calls itself: the gradient of what was made behind
# is missing.
# Violated (MUST): A function that is made one in which nothing is recorded has no effect behind a call, be it left by
# a return, an error, or its own recursion; called inside of a region, it does not end that.
# Found on paddle 3.3.1, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("GLOG_minloglevel", "3")  # errors are raised, and need not be logged too
import numpy as np
import paddle

paddle.set_device("cpu")


def gradient_of(output, leaf, seed):
    try:
        return paddle.grad([output], [leaf], None if seed is None else [seed], create_graph=True)[0]
    except RuntimeError as error:
        if "doesn't have any grad op" in str(error):
            raise NotImplementedError(str(error)) from error
        raise


def number(array):
    return None if array is None else float(np.asarray(array).reshape(()))


def note(label, array):  # count how often which number came
    counts = noted.setdefault(label, {})
    counts[number(array)] = counts.get(number(array), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x = paddle.to_tensor(np.array(3.0), stop_gradient=False)

    def gradient_of(y):
        try:
            y.backward()
        except Exception:
            pass
        return None if x.grad is None else x.grad.numpy()

    def forward():
        return paddle.add(paddle.multiply(x, x), x)

    def work(n=3):
        inner = around(n - 1) if n else None
        return forward()
    around = paddle.no_grad()(work)
    y = around()
    note('the gradient of what was made inside', gradient_of(y))
    note('the gradient of what was made behind', gradient_of(forward()))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


due = {'the gradient of what was made inside': 0.0, 'the gradient of what was made behind': 7.0}
for label, counts in attempt():
    for got, _ in counts:
        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"
