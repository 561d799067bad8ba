"""Differentiable arrays.

    x = Var([1.0, -2.0])
    y = (x * x).relu()
    y.backward([1.0, 1.0])
    x.gradient
"""

import heapq

import numpy as np


class Var:
    count = 0

    def __init__(self, data, maker=None):
        self.data = np.asarray(data, dtype=np.float64)
        self.gradient = None
        self.maker = maker
        Var.count += 1
        self.number = Var.count

    def __add__(self, other):
        return Plus(self, other).result()

    def __radd__(self, other):
        return Plus(other, self).result()

    def __sub__(self, other):
        return Minus(self, other).result()

    def __rsub__(self, other):
        return Minus(other, self).result()

    def __mul__(self, other):
        return Times(self, other).result()

    def __rmul__(self, other):
        return Times(other, self).result()

    def relu(self):
        return Relu(self).result()

    def exp(self):
        return Exp(self).result()

    def sum(self):
        return Sum(self).result()

    def clear_gradient(self):
        self.gradient = None

    def backward(self, seed=None):
        if seed is None:
            seed = np.ones_like(self.data)
        flow = {self.number: np.asarray(seed, dtype=np.float64)}
        heap = [(-self.number, self)]
        while heap:
            _, var = heapq.heappop(heap)  # the newest: all that use it are done
            g = flow.pop(var.number)
            if var.maker is None:
                var.gradient = g if var.gradient is None else var.gradient + g
                continue
            for arg, share in zip(var.maker.args, var.maker.shares(g)):
                share = squeeze_to(share, arg.data.shape)
                if arg.number in flow:
                    flow[arg.number] = flow[arg.number] + share
                else:
                    flow[arg.number] = share
                    heapq.heappush(heap, (-arg.number, arg))


def squeeze_to(g, shape):
    g = np.asarray(g)
    if g.shape != shape:
        n = g.ndim - len(shape)
        keep = [i + n for i, size in enumerate(shape) if size == 1]
        g = g.sum(axis=(*range(n), *keep)).reshape(shape)
    return g


class Operation:
    def __init__(self, *args):
        self.args = [a if isinstance(a, Var) else Var(a) for a in args]

    def result(self):
        self.out = self.compute(*[a.data for a in self.args])
        return Var(self.out, self)


class Plus(Operation):
    def compute(self, a, b):
        return a + b

    def shares(self, g):
        return [g, g]


class Minus(Operation):
    def compute(self, a, b):
        return a - b

    def shares(self, g):
        return [g, -g]


class Times(Operation):
    def compute(self, a, b):
        return a * b

    def shares(self, g):
        a, b = self.args
        return [g * b.data, g * a.data]


class Relu(Operation):
    def compute(self, a):
        return np.maximum(a, 0.0)

    def shares(self, g):
        return [np.where(g >= 0, g, 0.0)]


class Exp(Operation):
    def compute(self, a):
        return np.exp(a)

    def shares(self, g):
        return [g * self.out]


class Sum(Operation):
    def compute(self, a):
        return a.sum()

    def shares(self, g):
        return [g * np.ones_like(self.args[0].data)]
