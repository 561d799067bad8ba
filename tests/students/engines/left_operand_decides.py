"""Autograd on numpy arrays in which constants cost nothing: what needs no gradient is not recorded."""

import numpy as np


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.array(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.grad = None
        self._node = None

    def _new(self, data, *edges):
        out = Tensor(data, requires_grad=self.requires_grad)
        if out.requires_grad:
            out._node = [(t, f) for t, f in edges if t.requires_grad]
        return out

    def __add__(self, other):
        other = tensor(other)
        return self._new(
            self.data + other.data,
            (self, lambda g: back_to(self.data.shape, g)),
            (other, lambda g: back_to(other.data.shape, g)),
        )

    def __radd__(self, other):
        return tensor(other) + self

    def __sub__(self, other):
        other = tensor(other)
        return self._new(
            self.data - other.data,
            (self, lambda g: back_to(self.data.shape, g)),
            (other, lambda g: back_to(other.data.shape, -g)),
        )

    def __rsub__(self, other):
        return tensor(other) - self

    def __mul__(self, other):
        other = tensor(other)
        return self._new(
            self.data * other.data,
            (self, lambda g: back_to(self.data.shape, g * other.data)),
            (other, lambda g: back_to(other.data.shape, g * self.data)),
        )

    def __rmul__(self, other):
        return tensor(other) * self

    def __neg__(self):
        return self._new(-self.data, (self, lambda g: -g))

    def exp(self):
        out = np.exp(self.data)
        return self._new(out, (self, lambda g: g * out))

    def tanh(self):
        out = np.tanh(self.data)
        return self._new(out, (self, lambda g: g * (1 - out**2)))

    def sqrt(self):
        out = np.sqrt(self.data)
        return self._new(out, (self, lambda g: g / (2 * out)))

    def sum(self):
        return self._new(self.data.sum(), (self, lambda g: g * np.ones(self.data.shape)))

    def detach(self):
        return Tensor(self.data)

    def zero_grad(self):
        self.grad = None

    def backward(self, gradient=None):
        if not self.requires_grad:
            raise RuntimeError("nothing here requires grad")
        if gradient is None:
            if self.data.ndim:
                raise RuntimeError("gradient is missing, it is optional for single numbers only")
            gradient = 1.0
        order, seen = [], set()

        def visit(t):
            seen.add(id(t))
            for parent, _ in t._node or ():
                if id(parent) not in seen:
                    visit(parent)
            order.append(t)

        visit(self)
        grads = {id(self): np.asarray(gradient, dtype=np.float64)}
        for t in reversed(order):
            g = grads.pop(id(t))
            if t._node is None:
                t.grad = g if t.grad is None else t.grad + g
            for parent, f in t._node or ():
                part = f(g)
                grads[id(parent)] = grads[id(parent)] + part if id(parent) in grads else part


def back_to(shape, g):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return g.sum(axis=axes, keepdims=True)


def tensor(data, requires_grad=False):
    return data if isinstance(data, Tensor) else Tensor(data, requires_grad)
