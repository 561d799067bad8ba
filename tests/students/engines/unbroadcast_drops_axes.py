"""mytorch: arrays, operations as classes, one tape per program."""

import numpy as np


def sum_to_shape(g, shape):
    # leading axes that were added
    extra = g.ndim - len(shape)
    g = g.sum(axis=tuple(range(extra)))
    # axes that were stretched
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] > 1)
    return g.sum(axis=stretched)


class Op:
    def __call__(self, *tensors):
        self.tensors = tensors
        out = Tensor(self.forward(*(t.data for t in tensors)))
        out.creator = self
        return out


class AddOp(Op):
    def forward(self, a, b):
        self.sa, self.sb = np.shape(a), np.shape(b)
        return a + b

    def backward(self, g):
        return [sum_to_shape(g, self.sa), sum_to_shape(g, self.sb)]


class MulOp(Op):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a * b

    def backward(self, g):
        return [sum_to_shape(g * self.b, self.a.shape), sum_to_shape(g * self.a, self.b.shape)]


class DivOp(Op):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a / b

    def backward(self, g):
        ga = g / self.b
        gb = -g * self.a / self.b**2
        return [sum_to_shape(ga, self.a.shape), sum_to_shape(gb, self.b.shape)]


class TanhOp(Op):
    def forward(self, a):
        self.out = np.tanh(a)
        return self.out

    def backward(self, g):
        return [g * (1.0 - self.out * self.out)]


class LogOp(Op):
    def forward(self, a):
        self.a = a
        return np.log(a)

    def backward(self, g):
        return [g / self.a]


class SumOp(Op):
    def forward(self, a):
        self.shape = a.shape
        return np.sum(a)

    def backward(self, g):
        return [np.broadcast_to(g, self.shape).copy()]


class Tensor:
    def __init__(self, data):
        self.data = np.array(data, dtype=np.float64)
        self.grad = None
        self.creator = None

    def zero_grad(self):
        self.grad = None

    def __add__(self, other):
        return AddOp()(self, to_tensor(other))

    def __mul__(self, other):
        return MulOp()(self, to_tensor(other))

    def __truediv__(self, other):
        return DivOp()(self, to_tensor(other))

    def tanh(self):
        return TanhOp()(self)

    def log(self):
        return LogOp()(self)

    def sum(self):
        return SumOp()(self)

    def backward(self, gradient=None):
        grads = {id(self): np.ones_like(self.data) if gradient is None else np.asarray(gradient)}
        for t in topological(self):
            g = grads[id(t)]
            if t.creator is None:
                t.grad = g if t.grad is None else t.grad + g
                continue
            for parent, pg in zip(t.creator.tensors, t.creator.backward(g)):
                grads[id(parent)] = grads[id(parent)] + pg if id(parent) in grads else pg


def topological(root):
    order, seen = [], set()

    def visit(t):
        if id(t) in seen:
            return
        seen.add(id(t))
        if t.creator:
            for p in t.creator.tensors:
                visit(p)
        order.append(t)

    visit(root)
    return order[::-1]


def to_tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)
