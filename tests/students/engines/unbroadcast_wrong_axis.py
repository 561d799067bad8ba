"""Numpy autograd in one file. Operations are functions of this module and write to a global tape."""

import numpy as np

TAPE = []


class Array:
    def __init__(self, value):
        self.value = np.asarray(value, dtype=np.float64)
        self.grad = None

    @property
    def shape(self):
        return self.value.shape

    def __add__(self, other):
        return add(self, other)

    def __sub__(self, other):
        return subtract(self, other)

    def __mul__(self, other):
        return multiply(self, other)

    def __neg__(self):
        return negative(self)

    def backward(self, seed=None):
        _give(self, np.ones_like(self.value) if seed is None else np.asarray(seed, dtype=np.float64))
        for out, step in reversed(TAPE):
            if out.grad is not None:
                step(out.grad)
                out.grad = None  # only leaves keep theirs


def new_tape():
    TAPE.clear()


def _give(array, grad):
    array.grad = grad if array.grad is None else array.grad + grad


def record(value, step):
    out = Array(value)
    TAPE.append((out, step))
    return out


def _fit(grad, array):
    """Undo broadcasting: the gradient must look like the array again."""
    while len(grad.shape) > len(array.shape):
        grad = grad.sum(axis=-1)
    for axis, size in enumerate(array.shape):
        if size == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


def add(a, b):
    def step(g):
        _give(a, _fit(g, a))
        _give(b, _fit(g, b))

    return record(a.value + b.value, step)


def subtract(a, b):
    def step(g):
        _give(a, _fit(g, a))
        _give(b, -_fit(g, b))

    return record(a.value - b.value, step)


def multiply(a, b):
    def step(g):
        _give(a, _fit(g * b.value, a))
        _give(b, _fit(g * a.value, b))

    return record(a.value * b.value, step)


def negative(a):
    def step(g):
        _give(a, -g)

    return record(-a.value, step)


def exp(a):
    value = np.exp(a.value)

    def step(g):
        _give(a, g * value)

    return record(value, step)


def sin(a):
    def step(g):
        _give(a, g * np.cos(a.value))

    return record(np.sin(a.value), step)


def sum(a):
    def step(g):
        _give(a, g * np.ones(a.shape))

    return record(np.sum(a.value), step)
