"""Scalars with gradients. Each Scalar remembers its parents and the local slopes towards them."""

from math import cos, exp, log, sin, tanh


class Scalar:
    def __init__(self, data, edges=()):
        self.data = data
        self.grad = 0.0
        self.edges = edges  # pairs of a parent and d(self)/d(parent)

    def __add__(self, o):
        o = as_scalar(o)
        return Scalar(self.data + o.data, [(self, 1.0), (o, 1.0)])

    def __sub__(self, o):
        o = as_scalar(o)
        return Scalar(self.data - o.data, [(self, 1.0), (o, -1.0)])

    def __mul__(self, o):
        o = as_scalar(o)
        return Scalar(self.data * o.data, [(self, o.data), (o, self.data)])

    def __truediv__(self, o):
        o = as_scalar(o)
        return Scalar(self.data / o.data, [(self, 1 / o.data), (o, -self.data / (o.data * o.data))])

    def __neg__(self):
        return Scalar(-self.data, [(self, -1.0)])

    def __pow__(self, n):
        assert isinstance(n, (int, float)), "only powers of numbers"
        return Scalar(self.data**n, [(self, n * self.data ** (n - 1))])

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self):
        e = exp(self.data)
        return Scalar(e, [(self, e)])

    def log(self):
        return Scalar(log(self.data), [(self, 1 / self.data)])

    def sin(self):
        return Scalar(sin(self.data), [(self, cos(self.data))])

    def tanh(self):
        t = tanh(self.data)
        return Scalar(t, [(self, 1 - t**2)])

    def backward(self):
        self.clear_inner()
        self.grad = 1.0
        visited = {id(self)}
        todo = [self]
        while todo:
            node = todo.pop(0)
            following = []
            for parent, slope in node.edges:
                parent.grad += slope * node.grad
                if id(parent) not in visited:
                    visited.add(id(parent))
                    following.append(parent)
            todo = following + todo

    def clear_inner(self):
        seen, todo = set(), [self]
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen.add(id(node))
                if node.edges:
                    node.grad = 0.0
                todo += [p for p, _ in node.edges]


def as_scalar(x):
    if isinstance(x, Scalar):
        return x
    return Scalar(x)
