import numpy as np


class Parameter:
    """Something that can be differentiated: an array, its gradient, and how it came about."""

    def __init__(self, value, origin=None):
        self.value = np.asarray(value, dtype=np.float64)
        self.grad = None
        self.origin = origin  # (operands, backward function)

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return multiply(self, other)

    def __neg__(self):
        return negative(self)

    def transpose(self, axes=None):
        return transpose(self, axes)

    def reshape(self, shape):
        return reshape(self, shape)

    def sum(self):
        return total(self)


def parameter(x):
    return x if isinstance(x, Parameter) else Parameter(x)


def _check(a, b):
    if a.value.shape != b.value.shape:
        raise ValueError("operands must have equal shapes")


def add(a, b):
    a, b = parameter(a), parameter(b)
    _check(a, b)
    return Parameter(a.value + b.value, ((a, b), lambda g: (g, g)))


def multiply(a, b):
    a, b = parameter(a), parameter(b)
    _check(a, b)
    return Parameter(a.value * b.value, ((a, b), lambda g: (g * b.value, g * a.value)))


def negative(a):
    return Parameter(-a.value, ((a,), lambda g: (-g,)))


def exp(a):
    e = np.exp(a.value)
    return Parameter(e, ((a,), lambda g: (g * e,)))


def sin(a):
    return Parameter(np.sin(a.value), ((a,), lambda g: (g * np.cos(a.value),)))


def cos(a):
    return Parameter(np.cos(a.value), ((a,), lambda g: (-g * np.sin(a.value),)))


def total(a):
    return Parameter(a.value.sum(), ((a,), lambda g: (np.full(a.value.shape, g),)))


def transpose(a, axes=None):
    if axes is None:
        return Parameter(a.value.transpose(), ((a,), lambda g: (g.transpose(),)))
    return Parameter(a.value.transpose(axes), ((a,), lambda g: (g.transpose(axes),)))


def reshape(a, shape):
    return Parameter(a.value.reshape(shape), ((a,), lambda g: (g.reshape(a.value.shape),)))


def backward(output, seed=None):
    """Add the gradients of output to the .grad of all Parameters that it was made of."""
    post = []
    visited = set()

    def descend(p):
        visited.add(p)
        if p.origin:
            for operand in p.origin[0]:
                if operand not in visited:
                    descend(operand)
        post.append(p)

    descend(output)
    g = {output: np.ones_like(output.value) if seed is None else np.asarray(seed, dtype=np.float64)}
    while post:
        p = post.pop()
        if p.origin is None:
            p.grad = g[p] if p.grad is None else p.grad + g[p]
            continue
        operands, rule = p.origin
        for operand, part in zip(operands, rule(g[p])):
            g[operand] = part if operand not in g else g[operand] + part
