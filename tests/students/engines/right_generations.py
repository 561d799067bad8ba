"""Arrays with define-by-run graphs. Functions know their generation; backward takes the youngest function first."""

import heapq
from itertools import count

import numpy as np


class Variable:
    def __init__(self, data):
        self.data = np.asarray(data, dtype=np.float64)
        self.grad = None
        self.creator = None
        self.generation = 0

    @property
    def shape(self):
        return self.data.shape

    def cleargrad(self):
        self.grad = None

    def reshape(self, *shape):
        return Reshape(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)(self)

    def transpose(self, axes=None):
        return Transpose(axes)(self)

    def sum(self, axis=None, keepdims=False):
        return sum(self, axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        s = sum(self, axis, keepdims)
        return s * (s.data.size / self.data.size) if self.data.size else s * np.nan

    def max(self, axis=None, keepdims=False):
        return max(self, axis, keepdims)

    def backward(self, grad=None):
        grads = {id(self): np.ones_like(self.data) if grad is None else np.asarray(grad, dtype=np.float64)}
        ticket, heap, queued = count(), [], set()

        def enqueue(variable):
            if id(variable) not in queued:
                queued.add(id(variable))
                heapq.heappush(heap, (-variable.generation, next(ticket), variable))

        enqueue(self)
        while heap:
            _, _, variable = heapq.heappop(heap)
            g = grads[id(variable)]
            if variable.creator is None:
                variable.grad = g.copy() if variable.grad is None else variable.grad + g
                continue
            for x, gx in zip(variable.creator.inputs, variable.creator.backward(g)):
                grads[id(x)] = grads[id(x)] + gx if id(x) in grads else gx
                enqueue(x)


class Function:
    def __call__(self, *inputs):
        self.inputs = [as_variable(x) for x in inputs]
        out = Variable(self.forward(*(x.data for x in self.inputs)))
        out.creator = self
        out.generation = 1
        for x in self.inputs:
            out.generation = x.generation + 1 if x.generation >= out.generation else out.generation
        return out


class Elementwise2(Function):
    def __init__(self, f, fa, fb):
        self.f, self.fa, self.fb = f, fa, fb

    def forward(self, a, b):
        return self.f(a, b)

    def backward(self, g):
        a, b = self.inputs[0].data, self.inputs[1].data
        return sum_to(self.fa(g, a, b), a.shape), sum_to(self.fb(g, a, b), b.shape)


class Elementwise1(Function):
    def __init__(self, f, df):
        self.f, self.df = f, df

    def forward(self, a):
        self.y = self.f(a)
        return self.y

    def backward(self, g):
        return (g * self.df(self.inputs[0].data, self.y),)


class Sum(Function):
    def __init__(self, axis, keepdims):
        self.axis, self.keepdims = axis, keepdims

    def forward(self, a):
        return a.sum(axis=self.axis, keepdims=self.keepdims)

    def _stretch(self, y):
        if self.axis is not None and not self.keepdims:
            y = np.expand_dims(y, self.axis)
        return np.broadcast_to(y, self.inputs[0].shape)

    def backward(self, g):
        return (self._stretch(g),)


class Max(Sum):
    def forward(self, a):
        self.y = a.max(axis=self.axis, keepdims=self.keepdims)
        return self.y

    def backward(self, g):
        hit = (self.inputs[0].data == self._stretch(self.y)).astype(float)
        shared = hit.sum(axis=self.axis, keepdims=True)  # equal maxima share the gradient
        return (self._stretch(g) * hit / shared,)


class Reshape(Function):
    def __init__(self, shape):
        self.shape = shape

    def forward(self, a):
        return a.reshape(self.shape)

    def backward(self, g):
        return (g.reshape(self.inputs[0].shape),)


class Transpose(Function):
    def __init__(self, axes):
        self.axes = axes

    def forward(self, a):
        return a.transpose(self.axes)

    def backward(self, g):
        return (g.transpose(None if self.axes is None else np.argsort([ax % g.ndim for ax in self.axes])),)


def sum_to(g, shape):
    extra = g.ndim - len(shape)
    g = g.sum(axis=tuple(range(extra)))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def as_variable(x):
    return x if isinstance(x, Variable) else Variable(x)


def add(a, b):
    return Elementwise2(np.add, lambda g, a, b: g, lambda g, a, b: g)(a, b)


def sub(a, b):
    return Elementwise2(np.subtract, lambda g, a, b: g, lambda g, a, b: -g)(a, b)


def mul(a, b):
    return Elementwise2(np.multiply, lambda g, a, b: g * b, lambda g, a, b: g * a)(a, b)


def div(a, b):
    return Elementwise2(np.divide, lambda g, a, b: g / b, lambda g, a, b: -g * a / b**2)(a, b)


def neg(a):
    return Elementwise1(np.negative, lambda x, y: -1.0)(a)


def exp(a):
    return Elementwise1(np.exp, lambda x, y: y)(a)


def tanh(a):
    return Elementwise1(np.tanh, lambda x, y: 1 - y * y)(a)


def sum(a, axis=None, keepdims=False):
    return Sum(axis, keepdims)(a)


def max(a, axis=None, keepdims=False):
    return Max(axis, keepdims)(a)


Variable.__add__, Variable.__radd__ = add, lambda b, a: add(a, b)
Variable.__sub__, Variable.__rsub__ = sub, lambda b, a: sub(a, b)
Variable.__mul__, Variable.__rmul__ = mul, lambda b, a: mul(a, b)
Variable.__truediv__, Variable.__rtruediv__ = div, lambda b, a: div(a, b)
Variable.__neg__ = neg
