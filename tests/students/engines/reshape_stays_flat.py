"""Convolution exercise, part 1: the tensor class (without the convolution)."""

import numpy as np


class Graph:
    """A recorded operation: its inputs and its backward."""

    def __init__(self, inputs, pull):
        self.inputs = inputs
        self.pull = pull


class Tensor:
    def __init__(self, data, graph=None):
        if not isinstance(data, np.ndarray):
            data = np.array(data, dtype=np.float64)
        self.data = data
        self.graph = graph
        self.is_result = graph is not None
        self.grad = None

    def __add__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        return Tensor(
            np.asarray(self.data + other.data),
            Graph([self, other], lambda g: [undo(g, self.data), undo(g, other.data)]),
        )

    def __mul__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        return Tensor(
            np.asarray(self.data * other.data),
            Graph([self, other], lambda g: [undo(g * other.data, self.data), undo(g * self.data, other.data)]),
        )

    def __sub__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        return Tensor(
            np.asarray(self.data - other.data),
            Graph([self, other], lambda g: [undo(g, self.data), undo(-g, other.data)]),
        )

    def reshape(self, *shape):
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        return Tensor(self.data.reshape(shape), Graph([self], lambda g: [g.flatten()]))

    def exp(self):
        y = np.exp(self.data)
        return Tensor(np.asarray(y), Graph([self], lambda g: [g * y]))

    def log(self):
        return Tensor(np.asarray(np.log(self.data)), Graph([self], lambda g: [g / self.data]))

    def sum(self):
        return Tensor(np.asarray(self.data.sum()), Graph([self], lambda g: [np.broadcast_to(g, self.data.shape)]))

    def zero_grad(self):
        self.grad = None

    def backward(self, gradient=None, keep_graph=False):
        if self.is_result and self.graph is None:
            raise RuntimeError("the graph is gone; use keep_graph=True to go through it twice")
        if gradient is None:
            gradient = np.ones_like(self.data)
        order, seen = [], set()

        def visit(t):
            if id(t) in seen:
                return
            seen.add(id(t))
            if t.is_result and t.graph is None:
                raise RuntimeError("a part of the graph is gone; use keep_graph=True")
            for i in t.graph.inputs if t.graph else ():
                visit(i)
            order.append(t)

        visit(self)
        grads = {id(self): np.asarray(gradient, dtype=np.float64)}
        for t in reversed(order):
            g = grads.pop(id(t))
            if t.graph is None:
                t.grad = g if t.grad is None else t.grad + g
                continue
            for i, gi in zip(t.graph.inputs, t.graph.pull(g)):
                grads[id(i)] = gi if id(i) not in grads else grads[id(i)] + gi
            if not keep_graph:
                t.graph = None


def undo(g, array):
    """Sum a gradient over the axes along which an array was stretched."""
    while g.ndim > array.ndim:
        g = g.sum(axis=0)
    for axis in range(array.ndim):
        if array.shape[axis] == 1:
            g = g.sum(axis=axis, keepdims=True)
    return np.asarray(g)
