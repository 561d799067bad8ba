"""array autograd with context objects, like the big ones do it"""

import numpy as np


class Context:
    def save(self, *things):
        self.saved = things


class Function:
    @classmethod
    def apply(cls, *tensors, **kw):
        ctx = Context()
        out = Tensor(cls.forward(ctx, *(t.data for t in tensors), **kw))
        out._ctx = (cls, ctx, tensors)
        return out


class Add(Function):
    @staticmethod
    def forward(ctx, a, b):
        assert a.shape == b.shape, "no broadcasting yet"
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g, g


class Mul(Function):
    @staticmethod
    def forward(ctx, a, b):
        assert a.shape == b.shape, "no broadcasting yet"
        ctx.save(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        return g * b, g * a


class Exp(Function):
    @staticmethod
    def forward(ctx, a):
        out = np.exp(a)
        ctx.save(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.saved[0],)


class Tanh(Function):
    @staticmethod
    def forward(ctx, a):
        out = np.tanh(a)
        ctx.save(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return (g * (1 - ctx.saved[0] ** 2),)


class Sum(Function):
    @staticmethod
    def forward(ctx, a, axis=None, keepdims=False):
        ctx.save(a.shape, axis, keepdims)
        return a.sum(axis=axis, keepdims=keepdims)

    @staticmethod
    def backward(ctx, g):
        shape, axis, keepdims = ctx.saved
        if axis is not None and not keepdims:
            g = np.expand_dims(g, axis)
        return (np.broadcast_to(g, shape),)


class Max(Function):
    @staticmethod
    def forward(ctx, a, axis=None, keepdims=False):
        ctx.save(a.shape, axis, keepdims)
        return a.max(axis=axis, keepdims=keepdims)

    @staticmethod
    def backward(ctx, g):
        shape, axis, keepdims = ctx.saved
        if axis is not None and not keepdims:
            g = np.expand_dims(g, axis)
        return (np.broadcast_to(g, shape),)


class Tensor:
    def __init__(self, data):
        self.data = np.asarray(data, dtype=np.float64)
        self.grad = None
        self._ctx = None

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def exp(self):
        return Exp.apply(self)

    def tanh(self):
        return Tanh.apply(self)

    def sum(self, axis=None, keepdims=False):
        return Sum.apply(self, axis=axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        return Max.apply(self, axis=axis, keepdims=keepdims)

    def history(self, known):
        """Put the tensors that led to this one into known, oldest first, and this one at the end."""
        for parent in self._ctx[2] if self._ctx else ():
            if parent not in known:
                parent.history(known)
        known[self] = True
        return known

    def backward(self, grad=None):
        nodes = list(self.history({}))
        for node in nodes:
            if node._ctx:
                node.grad = None
        start = np.ones_like(self.data) if grad is None else np.asarray(grad, dtype=np.float64)
        self.grad = start if self.grad is None else self.grad + start
        for node in reversed(nodes):
            if node._ctx is None:
                continue
            cls, ctx, tensors = node._ctx
            for t, g in zip(tensors, cls.backward(ctx, node.grad)):
                t.grad = g if t.grad is None else t.grad + g
