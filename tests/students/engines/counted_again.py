# autograd with one global book-keeping object, scalar version

import math
from weakref import WeakKeyDictionary


class Engine:
    """Knows the gradient of everything that is still alive."""

    def __init__(self):
        self.gradients = WeakKeyDictionary()

    def record(self, out, *edges):
        out.edges = edges
        return out

    def run(self, output):
        # output gets 1, what came before it gets its share
        order, seen, stack = [], set(), [(output, False)]
        while stack:
            var, done = stack.pop()
            if done:
                order.append(var)
            elif var not in seen:
                seen.add(var)
                stack.append((var, True))
                stack.extend((operand, False) for operand, _ in var.edges)
        for var in order:
            if not var.is_leaf:
                self.gradients[var] = 0.0
        self.gradients[output] = 1.0
        for var in reversed(order):
            g = self.gradients[var]
            if var.is_leaf:
                var.grad += g
            for operand, slope in var.edges:
                self.gradients[operand] = self.gradients.get(operand, 0.0) + slope * g


ENGINE = Engine()


class Variable:
    def __init__(self, data, is_leaf=True):
        self.data = data
        self.is_leaf = is_leaf
        self.edges = ()
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
