import numpy as np


class Tensor:
    """A tensor with a lazily made gradient buffer; contributions are added in place to save memory."""

    def __init__(self, data, _inputs=(), _vjp=None):
        self.data = np.asarray(data, dtype=np.float64)
        self.grad = None
        self._inputs = _inputs
        self._vjp = _vjp

    shape = property(lambda self: self.data.shape)

    def __add__(self, other):
        other = _t(other)
        a, b = self.shape, other.shape
        return Tensor(self.data + other.data, (self, other), lambda g: (_shrink(g, a), _shrink(g, b)))

    def __mul__(self, other):
        other = _t(other)
        a, b = self.data, other.data
        return Tensor(a * b, (self, other), lambda g: (_shrink(g * b, a.shape), _shrink(g * a, b.shape)))

    def __neg__(self):
        return Tensor(-self.data, (self,), lambda g: (-g,))

    def __sub__(self, other):
        other = _t(other)
        a, b = self.shape, other.shape
        return Tensor(self.data - other.data, (self, other), lambda g: (_shrink(g * 1.0, a), _shrink(-g, b)))

    def exp(self):
        y = np.exp(self.data)
        return Tensor(y, (self,), lambda g: (g * y,))

    def sigmoid(self):
        y = 1 / (1 + np.exp(-self.data))
        return Tensor(y, (self,), lambda g: (g * y * (1 - y),))

    def sum(self, axis=None, keepdims=False):
        shape = self.shape

        def vjp(g):
            if axis is not None and not keepdims:
                g = np.expand_dims(g, axis)
            return (np.array(np.broadcast_to(g, shape)),)

        return Tensor(self.data.sum(axis=axis, keepdims=keepdims), (self,), vjp)

    def backward(self, gradient=None):
        if gradient is None:
            gradient = np.ones(self.shape)
        order, seen = [], set()

        def visit(t):
            if id(t) not in seen:
                seen.add(id(t))
                for i in t._inputs:
                    visit(i)
                order.append(t)

        visit(self)
        for t in order:
            if t._vjp:
                t.grad = None
        self._receive(np.array(gradient, dtype=np.float64))
        for t in reversed(order):
            if t._vjp:
                for i, g in zip(t._inputs, t._vjp(t.grad)):
                    i._receive(g)

    def _receive(self, g):
        if self.grad is None:
            self.grad = np.asarray(g)
        else:
            self.grad += g

    def zero_grad(self):
        self.grad = None


def _shrink(g, shape):
    if g.shape == shape:
        return g
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1)
    return g.sum(axis=axes).reshape(shape)


def _t(x):
    return x if isinstance(x, Tensor) else Tensor(x)
