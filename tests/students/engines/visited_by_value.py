"""Autograd for homework 2. Values can be compared and put into sets like numbers."""

import math


class Value:
    def __init__(self, data, parents=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self.backprop = None

    # comparisons, so that `a == 3` and `a < b` work as with floats
    def __eq__(self, other):
        return self.data == (other.data if isinstance(other, Value) else other)

    def __lt__(self, other):
        return self.data < (other.data if isinstance(other, Value) else other)

    def __hash__(self):
        return hash(self.data)

    def __repr__(self):
        return "<%g>" % self.data

    def __add__(self, other):
        other = lift(other)
        out = Value(self.data + other.data, (self, other))

        def backprop():
            self.grad += out.grad
            other.grad += out.grad

        out.backprop = backprop
        return out

    def __mul__(self, other):
        other = lift(other)
        out = Value(self.data * other.data, (self, other))

        def backprop():
            self.grad += out.grad * other.data
            other.grad += out.grad * self.data

        out.backprop = backprop
        return out

    def __truediv__(self, other):
        return self * lift(other) ** -1

    def __pow__(self, k):
        out = Value(self.data**k, (self,))

        def backprop():
            self.grad += out.grad * k * self.data ** (k - 1)

        out.backprop = backprop
        return out

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-lift(other))

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def backprop():
            self.grad += out.grad * (1 - out.data**2)

        out.backprop = backprop
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def backprop():
            self.grad += out.grad * out.data

        out.backprop = backprop
        return out

    def backward(self):
        topo = []
        visited = set()
        build_topo(self, visited, topo)
        for node in topo:
            if node.parents:
                node.grad = 0.0
        self.grad = 1.0
        for node in topo[::-1]:
            if node.backprop:
                node.backprop()


def build_topo(node, visited, topo):
    if node in visited:
        return
    visited.add(node)
    for p in node.parents:
        build_topo(p, visited, topo)
    topo.append(node)


def lift(x):
    return x if isinstance(x, Value) else Value(x)
