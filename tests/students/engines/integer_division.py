#!/usr/bin/env python3
# scalar autodiff: backward() goes through the nodes by their numbers, newest first
from math import cos, exp, log, sin, sqrt, tanh
from itertools import count

counter = count()


class Node:
    def __init__(self, data, deps=None):
        self.n = next(counter)
        self.data = data
        self.deps = deps or []
        self.grad = 0.0

    def __add__(self, other):
        other = node(other)
        return Node(self.data + other.data, [(self, lambda: 1), (other, lambda: 1)])

    def __sub__(self, other):
        other = node(other)
        return Node(self.data - other.data, [(self, lambda: 1), (other, lambda: -1)])

    def __mul__(self, other):
        other = node(other)
        return Node(self.data * other.data, [(self, lambda: other.data), (other, lambda: self.data)])

    def __truediv__(self, other):
        other = node(other)
        return Node(
            self.data / other.data,
            [(self, lambda: 1 / other.data), (other, lambda: -self.data / other.data**2)],
        )

    def __neg__(self):
        return Node(-self.data, [(self, lambda: -1)])

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def exp(self):
        out = Node(exp(self.data))
        out.deps = [(self, lambda: out.data)]
        return out

    def log(self):
        return Node(log(self.data), [(self, lambda: 1 // self.data)])

    def sqrt(self):
        out = Node(sqrt(self.data))
        out.deps = [(self, lambda: 1 / (2 * out.data))]
        return out

    def sin(self):
        return Node(sin(self.data), [(self, lambda: cos(self.data))])

    def cos(self):
        return Node(cos(self.data), [(self, lambda: -sin(self.data))])

    def tanh(self):
        out = Node(tanh(self.data))
        out.deps = [(self, lambda: 1 - out.data**2)]
        return out

    def backward(self):
        nodes = {self.n: self}
        todo = [self]
        while todo:
            for dep, _ in todo.pop().deps:
                if dep.n not in nodes:
                    nodes[dep.n] = dep
                    todo.append(dep)
        g = dict.fromkeys(nodes, 0.0)
        g[self.n] = 1.0
        for n in sorted(nodes, reverse=True):
            for dep, slope in nodes[n].deps:
                g[dep.n] += g[n] * slope()
            if nodes[n].deps:
                nodes[n].grad = g[n]
            else:
                nodes[n].grad += g[n]


def node(x):
    return x if isinstance(x, Node) else Node(x)
