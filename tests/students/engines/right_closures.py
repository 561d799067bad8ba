"""Scalar-valued automatic differentiation. Nodes hold a closure that passes their gradient to their inputs."""

import math


class Value:
    def __init__(self, data, inputs=(), label=""):
        self.data = data
        self.grad = 0.0
        self.label = label
        self.inputs = inputs
        self._backward = None

    def __repr__(self):
        return f"Value(data={self.data:.4f}, grad={self.grad:.4f})"

    def _lift(self, other):
        if isinstance(other, Value):
            return other
        if isinstance(other, (int, float)):
            return Value(other)
        raise TypeError(f"cannot compute with {type(other).__name__}")

    def __add__(self, other):
        other = self._lift(other)
        out = Value(self.data + other.data, (self, other))

        def _backward(g):
            self.grad += g
            other.grad += g

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = self._lift(other)
        out = Value(self.data * other.data, (self, other))

        def _backward(g):
            self.grad += other.data * g
            other.grad += self.data * g

        out._backward = _backward
        return out

    def __pow__(self, n):
        if not isinstance(n, (int, float)):
            raise TypeError("only int and float exponents")
        out = Value(self.data**n, (self,))

        def _backward(g):
            if n:
                self.grad += n * self.data ** (n - 1) * g

        out._backward = _backward
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def _backward(g):
            self.grad += out.data * g

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def _backward(g):
            self.grad += (1 - out.data**2) * g

        out._backward = _backward
        return out

    def relu(self):
        out = Value(self.data if self.data > 0 else 0.0, (self,))

        def _backward(g):
            self.grad += g if self.data > 0 else 0.0

        out._backward = _backward
        return out

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + (-self._lift(other))

    def __truediv__(self, other):
        return self * self._lift(other) ** -1

    def __radd__(self, other):
        return self._lift(other) + self

    def __rsub__(self, other):
        return self._lift(other) - self

    def __rmul__(self, other):
        return self._lift(other) * self

    def __rtruediv__(self, other):
        return self._lift(other) / self

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        """Accumulate into the .grad of all inputs; may be called again, also on the same graph."""
        order = []
        placed = set()
        stack = [(self, iter(self.inputs))]
        entered = {self}
        while stack:
            node, rest = stack[-1]
            child = next((c for c in rest if c not in entered), None)
            if child is not None:
                entered.add(child)
                stack.append((child, iter(child.inputs)))
            else:
                stack.pop()
                if node not in placed:
                    placed.add(node)
                    order.append(node)
        for node in order:
            if node.inputs:
                node.grad = 0.0
        self.grad += 1.0
        for node in reversed(order):
            if node._backward is not None:
                node._backward(node.grad)
