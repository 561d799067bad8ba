# A finding of refgrad on mygrad, version 2.5.0: modes/generators_may_be_unrecorded is wrong.
# A generator that is made one in which nothing is recorded records nothing in its body, and leaves the mode as it is
# between its values.
# Found: a generator in which nothing is recorded: the gradient of what was made inside is 7.0, but it should be 0.0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

import gc
import threading


def number(array):
    return None if array is None else float(np.asarray(array).reshape(()))


def less(array, due):
    return None if array is None else number(array) - due


def note(label, array):  # count how often which number came
    counts = noted.setdefault(label, {})
    counts[number(array)] = counts.get(number(array), 0) + 1


noted = {}


def attempt():
    noted.clear()
    x = mg.tensor(np.array(3.0), constant=not True)

    def gradient_of(y):  # None where nothing was recorded
        try:
            y.backward(None)
        except Exception:
            pass
        return x.grad

    def forward():
        return mg.add(mg.multiply(x, x), x)

    def work():
        y = forward()
        yield y
        yield forward()

    generator = (mg.no_autodiff(work))()
    y = next(generator)
    generator.close()
    note('the gradient of what was made inside', gradient_of(y))
    note('the gradient of what was made behind', gradient_of(forward()))
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
