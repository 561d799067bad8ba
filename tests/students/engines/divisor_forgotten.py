"""Week 4: automatic differentiation with a Wengert list.

Every operation appends one line to the list of its Tape:
(index of the result, [(index of the operand, local derivative), ...])
"""

import math

_lines = []


def reset():
    _lines.clear()


class Var:
    def __init__(self, data, terms=()):
        self.data = float(data)
        self.index = len(_lines)
        self.grad = 0.0
        _lines.append((self, list(terms)))

    def __add__(self, other):
        other = const(other)
        return Var(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        other = const(other)
        return Var(self.data - other.data, [(self, 1.0), (other, -1.0)])

    def __rsub__(self, other):
        return const(other) - self

    def __mul__(self, other):
        other = const(other)
        return Var(self.data * other.data, [(self, other.data), (other, self.data)])

    def __rmul__(self, other):
        return self * other

    def __truediv__(self, other):
        other = const(other)
        return Var(self.data / other.data, [(self, 1.0 / other.data)])

    def __rtruediv__(self, other):
        return const(other) / self

    def __neg__(self):
        return Var(-self.data, [(self, -1.0)])

    def __pow__(self, n):
        return Var(self.data**n, [(self, n * self.data ** (n - 1))])

    def backward(self):
        adjoint = [0.0] * (self.index + 1)
        adjoint[self.index] = 1.0
        for i in range(self.index, -1, -1):
            node, terms = _lines[i]
            if adjoint[i] == 0.0:
                continue
            for operand, slope in terms:
                adjoint[operand.index] += slope * adjoint[i]
            if not terms:
                node.grad += adjoint[i]


def const(x):
    return x if isinstance(x, Var) else Var(x)


def exp(x):
    return Var(math.exp(x.data), [(x, math.exp(x.data))])


def log(x):
    return Var(math.log(x.data), [(x, 1.0 / x.data)])


def sin(x):
    return Var(math.sin(x.data), [(x, math.cos(x.data))])


def cos(x):
    return Var(math.cos(x.data), [(x, -math.sin(x.data))])


def tanh(x):
    t = math.tanh(x.data)
    return Var(t, [(x, 1.0 - t * t)])


def sigmoid(x):
    s = 1.0 / (1.0 + math.exp(-x.data))
    return Var(s, [(x, s * (1.0 - s))])
