"""Recursive back-propagation for numbers: a node sends its gradient on when the last of its users has reported."""

import math


class Scalar:
    def __init__(self, value):
        self.value = value
        self.grad = 0.0
        self.sources = []
        self._expected = 0
        self._sum = 0.0

    @classmethod
    def computed(cls, value, *sources):
        n = cls(value)
        n.sources = list(sources)
        return n

    def __add__(self, other):
        other = scalar(other)
        return Scalar.computed(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = scalar(other)
        return Scalar.computed(self.value - other.value, (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = scalar(other)
        return Scalar.computed(self.value * other.value, (self, other.value), (other, self.value))

    def __truediv__(self, other):
        other = scalar(other)
        v = self.value / other.value
        return Scalar.computed(v, (self, 1.0 / other.value), (other, -v / other.value))

    def __neg__(self):
        return Scalar.computed(-self.value, (self, -1.0))

    def __radd__(self, other):
        return scalar(other) + self

    def __rsub__(self, other):
        return scalar(other) - self

    def __rmul__(self, other):
        return scalar(other) * self

    def __rtruediv__(self, other):
        return scalar(other) / self

    def exp(self):
        v = math.exp(self.value)
        return Scalar.computed(v, (self, v))

    def log(self):
        return Scalar.computed(math.log(self.value), (self, 1.0 / self.value))

    def sigmoid(self):
        v = 1.0 / (1.0 + math.exp(-self.value)) if self.value >= 0 else 1.0 - 1.0 / (1.0 + math.exp(self.value))
        return Scalar.computed(v, (self, v * (1.0 - v)))

    def sin(self):
        return Scalar.computed(math.sin(self.value), (self, math.cos(self.value)))

    def backward(self, seed=1.0):
        self._announce()
        self._report(seed)

    def _announce(self):
        """Tell all nodes below how many reports they have to wait for."""
        self._expected += 1
        if self._expected == 1:
            for source, _ in self.sources:
                source._announce()

    def _report(self, amount):
        self._sum += amount
        self._expected -= 1
        if self._expected:
            return
        total, self._sum = self._sum, 0.0
        if not self.sources:
            self.grad += total
        for source, slope in self.sources:
            source._report(slope * total)


def scalar(x):
    return x if isinstance(x, Scalar) else Scalar(x)
