import math


class Var:
    """A variable in a computation graph (plain floats)."""

    def __init__(self, data):
        self.data = data
        self.grad = 0.0
        self.prev = []
        self.rule = None

    @staticmethod
    def _make(data, prev, rule):
        out = Var(data)
        out.prev = prev
        out.rule = rule
        return out

    def __add__(self, other):
        if not isinstance(other, Var):
            other = Var(other)
        return Var._make(self.data + other.data, [self, other], lambda g: [g, g])

    def __mul__(self, other):
        if not isinstance(other, Var):
            other = Var(other)
        return Var._make(self.data * other.data, [self, other], lambda g: [g * other.data, g * self.data])

    def __neg__(self):
        return Var._make(-self.data, [self], lambda g: [-g])

    def __sub__(self, other):
        if not isinstance(other, Var):
            other = Var(other)
        return Var._make(self.data - other.data, [self, other], lambda g: [g, -g])

    def exp(self):
        e = math.exp(self.data)
        return Var._make(e, [self], lambda g: [g * e])

    def sin(self):
        return Var._make(math.sin(self.data), [self], lambda g: [g * math.cos(self.data)])

    def sigmoid(self):
        s = 1 / (1 + math.exp(-self.data))
        return Var._make(s, [self], lambda g: [g * s * (1 - s)])

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        order = []

        def collect(v):
            for p in v.prev:
                collect(p)
            order.append(v)

        collect(self)
        for v in order:
            if v.prev:
                v.grad = 0.0
        self.grad += 1.0
        for v in reversed(order):
            if v.rule is not None:
                for p, g in zip(v.prev, v.rule(v.grad)):
                    p.grad += g
