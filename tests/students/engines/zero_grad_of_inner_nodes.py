"""Reverse-mode differentiation of scalar expressions, with zero_grad() for training loops."""

import math


class Value:
    def __init__(self, data, inputs=()):
        self.data = data
        self.grad = 0.0
        self.inputs = inputs
        self.local = ()

    def _op(self, data, inputs, local):
        out = Value(data, inputs)
        out.local = local
        return out

    def __add__(self, other):
        other = number(other)
        return self._op(self.data + other.data, (self, other), (1.0, 1.0))

    def __radd__(self, other):
        return number(other) + self

    def __mul__(self, other):
        other = number(other)
        return self._op(self.data * other.data, (self, other), (other.data, self.data))

    def __rmul__(self, other):
        return number(other) * self

    def __sub__(self, other):
        other = number(other)
        return self._op(self.data - other.data, (self, other), (1.0, -1.0))

    def __neg__(self):
        return self._op(-self.data, (self,), (-1.0,))

    def tanh(self):
        t = math.tanh(self.data)
        return self._op(t, (self,), (1 - t * t,))

    def cos(self):
        return self._op(math.cos(self.data), (self,), (-math.sin(self.data),))

    def relu(self):
        return self._op(self.data if self.data > 0 else 0.0, (self,), (1.0 if self.data > 0 else 0.0,))

    def nodes(self):
        found, seen = [], set()

        def add(node):
            if id(node) not in seen:
                seen.add(id(node))
                for each in node.inputs:
                    add(each)
                found.append(node)

        add(self)
        return found

    def zero_grad(self):
        """Set the gradients of the graph back to zero."""
        for node in self.nodes():
            if node.inputs:
                node.grad = 0.0

    def backward(self):
        order = self.nodes()
        self.zero_grad()
        self.grad += 1.0
        for node in reversed(order):
            for parent, slope in zip(node.inputs, node.local):
                parent.grad += slope * node.grad


def number(x):
    return x if isinstance(x, Value) else Value(float(x))
