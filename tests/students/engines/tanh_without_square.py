"""scalar autograd with graphs that are freed, unless one says retain_graph=True"""

import math


class Value:
    def __init__(self, data, requires_grad=True):
        self.data = float(data)
        self.requires_grad = requires_grad
        self.grad = None
        self._parents = ()
        self._freed = False

    @classmethod
    def _result(cls, data, *parents):
        out = cls(data, any(p.requires_grad for p, _ in parents))
        out._parents = parents
        return out

    @staticmethod
    def _wrap(x):
        return x if isinstance(x, Value) else Value(x, requires_grad=False)

    def __add__(self, other):
        other = self._wrap(other)
        return Value._result(self.data + other.data, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        other = self._wrap(other)
        return Value._result(self.data * other.data, (self, other.data), (other, self.data))

    def __sub__(self, other):
        other = self._wrap(other)
        return Value._result(self.data - other.data, (self, 1.0), (other, -1.0))

    def __neg__(self):
        return Value._result(-self.data, (self, -1.0))

    def __radd__(self, other):
        return self._wrap(other) + self

    def __rmul__(self, other):
        return self._wrap(other) * self

    def __rsub__(self, other):
        return self._wrap(other) - self

    def sin(self):
        return Value._result(math.sin(self.data), (self, math.cos(self.data)))

    def exp(self):
        e = math.exp(self.data)
        return Value._result(e, (self, e))

    def tanh(self):
        t = math.tanh(self.data)
        return Value._result(t, (self, 1.0 - t))

    def sigmoid(self):
        s = 1.0 / (1.0 + math.exp(-self.data))
        return Value._result(s, (self, s * (1.0 - s)))

    def zero_grad(self):
        self.grad = None

    def backward(self, gradient=1.0, retain_graph=False):
        if not self.requires_grad:
            raise RuntimeError("this value does not require grad")
        order = []
        self._collect(order, set())
        if any(v._freed for v in order):
            raise RuntimeError("the graph has been freed, call backward with retain_graph=True the first time")
        local = {id(self): gradient}
        for v in reversed(order):
            g = local.get(id(v), 0.0)
            if not v._parents:
                v.grad = g if v.grad is None else v.grad + g
            for p, slope in v._parents:
                if p.requires_grad:
                    local[id(p)] = local.get(id(p), 0.0) + g * slope
        if not retain_graph:
            for v in order:
                if v._parents:
                    v._freed = True

    def _collect(self, order, seen):
        seen.add(id(self))
        for p, _ in self._parents:
            if p.requires_grad and id(p) not in seen:
                p._collect(order, seen)
        order.append(self)
