# autograd with one global book-keeping object, scalar version

import math


class Engine:
    """Knows all operations, and the gradient of everything."""

    def __init__(self):
        self.operations = []
        self.gradients = {}

    def record(self, out, *edges):
        self.operations.append((out, edges))
        return out

    def run(self, output):
        # output gets 1, what came before it gets its share
        for out, _ in self.operations:
            self.gradients[out] = 0.0
        self.gradients[output] = 1.0
        for out, edges in reversed(self.operations):
            g = self.gradients[out]
            for operand, slope in edges:
                self.gradients[operand] = self.gradients.get(operand, 0.0) + slope * g
        for var, g in self.gradients.items():
            if var.is_leaf:
                var.grad += g


ENGINE = Engine()


class Variable:
    def __init__(self, data, is_leaf=True):
        self.data = data
        self.is_leaf = is_leaf
        self.grad = 0.0

    def __add__(self, other):
        other = variable(other)
        return ENGINE.record(Variable(self.data + other.data, False), (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = variable(other)
        return ENGINE.record(Variable(self.data - other.data, False), (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = variable(other)
        return ENGINE.record(Variable(self.data * other.data, False), (self, other.data), (other, self.data))

    def __truediv__(self, other):
        other = variable(other)
        q = self.data / other.data
        return ENGINE.record(Variable(q, False), (self, 1.0 / other.data), (other, -q / other.data))

    def __neg__(self):
        return ENGINE.record(Variable(-self.data, False), (self, -1.0))

    def exp(self):
        e = math.exp(self.data)
        return ENGINE.record(Variable(e, False), (self, e))

    def log(self):
        return ENGINE.record(Variable(math.log(self.data), False), (self, 1.0 / self.data))

    def tanh(self):
        t = math.tanh(self.data)
        return ENGINE.record(Variable(t, False), (self, 1.0 - t * t))

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        ENGINE.run(self)


def variable(x):
    return x if isinstance(x, Variable) else Variable(x)
