"""Matrices with gradients, for the linear layers of the exercise."""

import numpy as np


class Tensor:
    def __init__(self, data, args=(), rule=None):
        self.data = np.array(data, dtype=np.float64)
        self.args = args
        self.rule = rule
        self.grad = np.zeros(self.data.shape)

    @property
    def T(self):
        return Tensor(self.data.T, (self,), lambda g: [g.T])

    def __add__(self, other):
        other = promote(other)
        return Tensor(
            self.data + other.data,
            (self, other),
            lambda g: [collapse(g, self.data.shape), collapse(g, other.data.shape)],
        )

    def __sub__(self, other):
        other = promote(other)
        return Tensor(
            self.data - other.data,
            (self, other),
            lambda g: [collapse(g, self.data.shape), -collapse(g, other.data.shape)],
        )

    def __mul__(self, other):
        other = promote(other)
        return Tensor(
            self.data * other.data,
            (self, other),
            lambda g: [collapse(g * other.data, self.data.shape), collapse(g * self.data, other.data.shape)],
        )

    def __matmul__(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise ValueError("both sides of @ must have two axes")

        def rule(g):
            ga = g @ other.data.T
            gb = g.T @ self.data
            return [ga, gb.reshape(other.data.shape)]  # reshape, or the shapes do not fit

        return Tensor(self.data @ other.data, (self, other), rule)

    def tanh(self):
        t = np.tanh(self.data)
        return Tensor(t, (self,), lambda g: [g * (1 - t * t)])

    def relu(self):
        return Tensor(np.where(self.data > 0, self.data, 0), (self,), lambda g: [np.where(self.data > 0, g, 0)])

    def sum(self):
        return Tensor(self.data.sum(), (self,), lambda g: [np.full(self.data.shape, g)])

    def mean(self):
        return Tensor(self.data.mean(), (self,), lambda g: [np.full(self.data.shape, g / self.data.size)])

    def backward(self, grad=None):
        nodes = []
        mark(self, nodes, set())
        for m in nodes:
            if m.args:
                m.grad = np.zeros(m.data.shape)
        self.grad = self.grad + (np.ones(self.data.shape) if grad is None else np.asarray(grad))
        for m in nodes[::-1]:
            if m.rule:
                for arg, g in zip(m.args, m.rule(m.grad)):
                    arg.grad = arg.grad + g

    def zero_grad(self):
        self.grad = np.zeros(self.data.shape)


def promote(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def collapse(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.sum(axis=i, keepdims=True)
    return g


def mark(m, nodes, seen):
    if m not in seen:
        seen.add(m)
        for a in m.args:
            mark(a, nodes, seen)
        nodes.append(m)
