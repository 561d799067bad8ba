# A finding of refgrad on micrograd, version 0.1.0: repetition/each_call_on_a_kept_graph_adds_the_same is wrong.
# Each of 500 backward calls on one kept graph adds the same to the leaf.
# Found: 500 backward calls on one kept graph: what a call adds is 13.0, but it should be 7.0, in 499 of 500 runs

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

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
    x, before = Value(3.0), 0.0
    y = x * x + x
    for _ in range(500):
        y.backward()
        total = number(x.grad)
        note('what a call adds', less(total, before))
        before = total or 0.0
    return [[label, [list(each) for each in counts.items()]] for label, counts in noted.items()]


for label, counts in attempt():
    print(label, counts)
