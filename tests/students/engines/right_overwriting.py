"""Derivatives of scalar formulas.

backward() computes the gradients afresh: x.grad is that of the latest backward() whose output depends on x.
It is not added to what was there, so there is nothing to be set to zero between two steps of training.
"""

import math


class Scalar:
    def __init__(self, data, *derived):
        self.data = data
        self.grad = 0.0
        self.derived = derived

    def backward(self):
        terms, known = [self], {id(self)}
        for term in terms:  # the list grows while it is read
            for t, _ in term.derived:
                if id(t) not in known:
                    known.add(id(t))
                    terms.append(t)
        for term in terms:
            term.grad = 0.0
        self.grad = 1.0
        uses = {id(t): 0 for t in terms}
        for term in terms:
            for t, _ in term.derived:
                uses[id(t)] += 1
        free = [self]
        while free:
            term = free.pop()
            for t, slope in term.derived:
                t.grad += slope * term.grad
                uses[id(t)] -= 1
                if not uses[id(t)]:
                    free.append(t)

    def __add__(self, other):
        other = _scalar(other)
        return Scalar(self.data + other.data, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = _scalar(other)
        return Scalar(self.data - other.data, (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = _scalar(other)
        return Scalar(self.data * other.data, (self, other.data), (other, self.data))

    def __truediv__(self, other):
        other = _scalar(other)
        return Scalar(self.data / other.data, (self, 1 / other.data), (other, -self.data / other.data**2))

    def __neg__(self):
        return Scalar(-self.data, (self, -1.0))

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self):
        y = math.exp(self.data)
        return Scalar(y, (self, y))

    def tanh(self):
        y = math.tanh(self.data)
        return Scalar(y, (self, 1 - y**2))

    def cos(self):
        return Scalar(math.cos(self.data), (self, -math.sin(self.data)))


def _scalar(x):
    return x if isinstance(x, Scalar) else Scalar(x)
