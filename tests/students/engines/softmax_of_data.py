"""Autograd for classifiers: matrix products, activations, softmax and a loss."""

import numpy as np


def reduce_like(g, x):
    while g.ndim > x.ndim:
        g = g.sum(axis=0)
    axes = tuple(i for i, n in enumerate(x.shape) if n == 1)
    return g.sum(axis=axes, keepdims=True) if axes else g


class Tensor:
    def __init__(self, data, prev=()):
        self.data = np.array(data, dtype=np.float64)
        self.grad = np.zeros_like(self.data)
        self.prev = prev
        self.send = lambda g: None

    def __add__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        out = Tensor(self.data + other.data, (self, other))

        def send(g):
            self.grad = self.grad + reduce_like(g, self.data)
            other.grad = other.grad + reduce_like(g, other.data)

        out.send = send
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        out = Tensor(self.data * other.data, (self, other))

        def send(g):
            self.grad = self.grad + reduce_like(g * other.data, self.data)
            other.grad = other.grad + reduce_like(g * self.data, other.data)

        out.send = send
        return out

    def __truediv__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        out = Tensor(self.data / other.data, (self, other))

        def send(g):
            self.grad = self.grad + reduce_like(g / other.data, self.data)
            other.grad = other.grad - reduce_like(g * self.data / other.data**2, other.data)

        out.send = send
        return out

    def exp(self):
        out = Tensor(np.exp(self.data), (self,))

        def send(g):
            self.grad = self.grad + g * out.data

        out.send = send
        return out

    def log(self):
        out = Tensor(np.log(self.data), (self,))

        def send(g):
            self.grad = self.grad + g / self.data

        out.send = send
        return out

    def relu(self):
        out = Tensor(self.data * (self.data > 0), (self,))

        def send(g):
            self.grad = self.grad + g * (self.data > 0)

        out.send = send
        return out

    def sum(self, axis=None, keepdims=False):
        out = Tensor(self.data.sum(axis=axis, keepdims=keepdims), (self,))

        def send(g):
            if axis is not None and not keepdims:
                g = np.expand_dims(g, axis)
            self.grad = self.grad + np.ones_like(self.data) * g

        out.send = send
        return out

    def softmax(self, axis=-1):
        shifted = self + (-self.data.max(axis=axis, keepdims=True))  # against overflow
        e = shifted.exp()
        return e / e.data.sum(axis=axis, keepdims=True)

    def zero_grad(self):
        self.grad = np.zeros_like(self.data)

    def backward(self, seed=None):
        topo, seen = [], set()

        def build(t):
            if t not in seen:
                seen.add(t)
                for p in t.prev:
                    build(p)
                topo.append(t)

        build(self)
        for t in topo:
            if t.prev:
                t.zero_grad()
        self.grad = self.grad + (1.0 if seed is None else np.asarray(seed))
        for t in topo[::-1]:
            t.send(t.grad)
