"""Week 4: automatic differentiation with a Wengert list.

Every Var is one line of the list. It has a line number, and on the line stand its operands, each with the local
derivative. backward() reads the lines from the last to the first, by a heap of those that are to be read.
"""

import heapq
import math

_lines = 0


class Var:
    def __init__(self, data, terms=()):
        global _lines
        _lines += 1
        self.line = _lines
        self.data = float(data)
        self.terms = terms
        self.grad = 0.0

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
        adjoint = {self.line: 1.0}
        heap = [(-self.line, self)]
        while heap:
            _, var = heapq.heappop(heap)
            a = adjoint.pop(var.line)
            if not var.terms:
                var.grad += a
            for operand, slope in var.terms:
                if operand.line not in adjoint:
                    adjoint[operand.line] = 0.0
                    heapq.heappush(heap, (-operand.line, operand))
                adjoint[operand.line] += slope * a


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
    s = 0.5 + 0.5 * math.tanh(x.data / 2)
    return Var(s, [(x, s * (1.0 - s))])
