"""Tensors with .backward(). Functions are classes; what backward needs is saved on the instance."""

import numpy as np


class Tensor:
    def __init__(self, array, source=None):
        self.array = np.asarray(array, dtype=np.float64)
        self.source = source
        self.grad = None

    @property
    def shape(self):
        return self.array.shape

    def __add__(self, other):
        return Add()(self, other)

    def __mul__(self, other):
        return Multiply()(self, other)

    def __neg__(self):
        return Negate()(self)

    def exp(self):
        return Exponential()(self)

    def cos(self):
        return Cosine()(self)

    def sum(self, axis=None):
        return Sum(axis)(self)

    def backward(self, grad=None):
        grad = np.ones(self.shape) if grad is None else np.array(grad, dtype=np.float64)
        waiting = {}  # how many uses of each tensor are still to come
        stack, seen = [self], {id(self)}
        while stack:
            t = stack.pop()
            for i in t.source.inputs if t.source else ():
                waiting[id(i)] = waiting.get(id(i), 0) + 1
                if id(i) not in seen:
                    seen.add(id(i))
                    stack.append(i)
        arrived = {id(self): grad}
        ready = [self]
        while ready:
            t = ready.pop()
            g = arrived.pop(id(t))
            if t.source is None:
                t.grad = g if t.grad is None else t.grad + g
                continue
            for i, gi in zip(t.source.inputs, t.source.backward(g)):
                arrived[id(i)] = arrived[id(i)] + gi if id(i) in arrived else gi
                waiting[id(i)] -= 1
                if waiting[id(i)] == 0:
                    ready.append(i)


class Function:
    def __call__(self, *inputs):
        self.inputs = [i if isinstance(i, Tensor) else Tensor(i) for i in inputs]
        return Tensor(self.forward(*[i.array for i in self.inputs]), self)


def same_shape(a, b):
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape} differ, broadcasting is not supported")


class Add(Function):
    def forward(self, a, b):
        same_shape(a, b)
        return a + b

    def backward(self, g):
        return g, g


class Multiply(Function):
    def forward(self, a, b):
        same_shape(a, b)
        self.a, self.b = a, b
        return a * b

    def backward(self, g):
        return g * self.b, g * self.a


class Negate(Function):
    def forward(self, a):
        return -a

    def backward(self, g):
        return (-g,)


class Exponential(Function):
    def forward(self, a):
        self.y = np.exp(a)
        return self.y

    def backward(self, g):
        return (g * self.y,)


class Cosine(Function):
    def forward(self, a):
        self.a = a
        return np.cos(a)

    def backward(self, g):
        return (-g * np.sin(self.a),)


class Sum(Function):
    def __init__(self, axis):
        self.axis = axis

    def forward(self, a):
        self.shape = a.shape
        return a.sum(axis=self.axis)

    def backward(self, g):
        if self.axis is None:
            return (np.full(self.shape, g),)
        n = self.shape[self.axis]
        return (np.repeat(g, n).reshape(self.shape),)
