"""Linear algebra with gradients. Shapes must match exactly, nothing is stretched; there are no hidden copies."""

import numpy as np


class Node:
    def __init__(self, data, op=None, *args, **info):
        self.data = np.array(data, dtype=np.float64)
        self.op = op
        self.args = args
        self.info = info
        self.gradient = None

    def require_same(self, other):
        if not isinstance(other, Node):
            raise TypeError("operands must be Nodes")
        if self.data.shape != other.data.shape:
            raise ValueError(f"shapes {self.data.shape} and {other.data.shape} do not match")

    def __add__(self, other):
        self.require_same(other)
        return Node(self.data + other.data, "add", self, other)

    def __sub__(self, other):
        self.require_same(other)
        return Node(self.data - other.data, "sub", self, other)

    def __mul__(self, other):
        self.require_same(other)
        return Node(self.data * other.data, "mul", self, other)

    def __neg__(self):
        return Node(-self.data, "neg", self)

    def __matmul__(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise ValueError("matmul needs two matrices")
        return Node(self.data @ other.data, "matmul", self, other)

    def transpose(self):
        return Node(self.data.T, "transpose", self)

    def reshape(self, shape):
        return Node(self.data.reshape(shape), "reshape", self)

    def tanh(self):
        return Node(np.tanh(self.data), "tanh", self)

    def square(self):
        return Node(self.data**2, "square", self)

    def sum(self):
        return Node(self.data.sum(), "sum", self)

    def mean(self):
        return Node(self.data.mean(), "mean", self)

    def clear_gradient(self):
        self.gradient = None

    def pull(self, g):
        """The gradients of the arguments, given that of the result."""
        x = [a.data for a in self.args]
        match self.op:
            case "add":
                return g, g
            case "sub":
                return g, -g
            case "mul":
                return g * x[1], g * x[0]
            case "neg":
                return (-g,)
            case "matmul":
                return g @ x[1].T, x[0].T @ g
            case "transpose":
                return (g.T,)
            case "reshape":
                return (g.reshape(x[0].shape),)
            case "tanh":
                return (g * (1 - self.data * self.data),)
            case "square":
                return (2 * g * x[0],)
            case "sum":
                return (np.full(x[0].shape, g),)
            case "mean":
                return (np.full(x[0].shape, g / x[0].size if x[0].size else 0.0),)
        raise NotImplementedError(self.op)

    def backward(self, gradient=None):
        """Add to the .gradient of all leaves."""
        g = np.ones(self.data.shape) if gradient is None else np.array(gradient, dtype=np.float64)
        if g.shape != self.data.shape:
            raise ValueError("the gradient must have the shape of the output")
        todo, inner = [self], {}
        incoming = {id(self): 0}
        while todo:
            n = todo.pop()
            inner[id(n)] = n
            for a in n.args:
                if id(a) not in incoming:
                    incoming[id(a)] = 0
                    todo.append(a)
                incoming[id(a)] += 1
        parts = {id(self): g}
        ready = [self]
        while ready:
            n = ready.pop()
            g = parts.pop(id(n))
            if n.op is None:
                n.gradient = g + 0.0 if n.gradient is None else n.gradient + g
                continue
            for a, ga in zip(n.args, n.pull(g)):
                parts[id(a)] = parts[id(a)] + ga if id(a) in parts else ga
                incoming[id(a)] -= 1
                if not incoming[id(a)]:
                    ready.append(a)
