"""Gradients of ordinary functions: write f with the functions of this module, then call grad(f)(x).

While f runs, every operation is put on the tape that is open.
"""

import numpy as np

_open_tapes = []


class Box:
    """An array whose operations are recorded."""

    def __init__(self, value, tape):
        self.value = value
        self.tape = tape

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return subtract(self, other)

    def __rsub__(self, other):
        return subtract(other, self)

    def __mul__(self, other):
        return multiply(self, other)

    def __rmul__(self, other):
        return multiply(other, self)

    def __neg__(self):
        return negative(self)


def _value(x):
    return x.value if isinstance(x, Box) else np.asarray(x, dtype=np.float64)


def _record(value, *pairs):
    """Make the result of an operation; pairs are an operand and the function that maps the gradient to it."""
    pairs = [(x, pull) for x, pull in pairs if isinstance(x, Box)]
    if not pairs:
        return value
    out = Box(value, pairs[0][0].tape)
    out.tape.append((out, pairs))
    return out


def _to(shape):
    def reduce(g):
        g = np.asarray(g)
        while g.ndim > len(shape):
            g = g.sum(axis=0)
        for axis, n in enumerate(shape):
            if n == 1:
                g = g.sum(axis=axis, keepdims=True)
        return g

    return reduce


def add(a, b):
    va, vb = _value(a), _value(b)
    ra, rb = _to(va.shape), _to(vb.shape)
    return _record(va + vb, (a, lambda g: ra(g)), (b, lambda g: rb(g)))


def subtract(a, b):
    va, vb = _value(a), _value(b)
    ra, rb = _to(va.shape), _to(vb.shape)
    return _record(va - vb, (a, lambda g: ra(g)), (b, lambda g: rb(-g)))


def multiply(a, b):
    va, vb = _value(a), _value(b)
    ra, rb = _to(va.shape), _to(vb.shape)
    return _record(va * vb, (a, lambda g: ra(g * vb)), (b, lambda g: rb(g * va)))


def negative(a):
    return _record(-_value(a), (a, lambda g: -g))


def exp(a):
    out = np.exp(_value(a))
    return _record(out, (a, lambda g: g * out))


def tanh(a):
    out = np.tanh(_value(a))
    return _record(out, (a, lambda g: g * (1 - out**2)))


def sigmoid(a):
    x = _value(a)
    out = 1 / (1 + np.exp(-x))
    return _record(out, (a, lambda g: g * x * (1 - x)))


def sum(a):
    x = _value(a)
    return _record(x.sum(), (a, lambda g: g * np.ones(x.shape)))


def vjp(f, *xs):
    """Return f(*xs) and the function from a gradient of the output to those of the inputs."""
    tape = []
    boxes = [Box(np.asarray(x, dtype=np.float64), tape) for x in xs]
    out = f(*boxes)

    def pullback(g):
        if not isinstance(out, Box):
            return tuple(np.zeros_like(b.value) for b in boxes)
        grads = {id(out): np.asarray(g, dtype=np.float64)}
        for node, pairs in reversed(tape):
            if id(node) in grads:
                gn = grads.pop(id(node))
                for x, pull in pairs:
                    grads[id(x)] = grads[id(x)] + pull(gn) if id(x) in grads else pull(gn)
        return tuple(grads.get(id(b), np.zeros_like(b.value)) for b in boxes)

    return _value(out), pullback


def grad(f, argnum=0):
    def gradient(*xs):
        y, pullback = vjp(f, *xs)
        return pullback(np.ones_like(y))[argnum]

    return gradient
