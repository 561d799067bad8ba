"""A small engine that tries to be fast: exponentials are expensive, so they are remembered."""

import math

_known_exp = {}


class Value:
    __slots__ = ("data", "grad", "_children", "_step")

    def __init__(self, data, children=()):
        self.data = data
        self.grad = 0.0
        self._children = children
        self._step = None

    def __add__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        out = Value(self.data + other.data, (self, other))

        def step():
            self.grad += out.grad
            other.grad += out.grad

        out._step = step
        return out

    def __mul__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        out = Value(self.data * other.data, (self, other))

        def step():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._step = step
        return out

    def __sub__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        out = Value(self.data - other.data, (self, other))

        def step():
            self.grad += out.grad
            other.grad -= out.grad

        out._step = step
        return out

    def __neg__(self):
        out = Value(-self.data, (self,))

        def step():
            self.grad -= out.grad

        out._step = step
        return out

    def exp(self):
        key = id(self)
        if key not in _known_exp:
            _known_exp[key] = math.exp(self.data)
        out = Value(_known_exp[key], (self,))

        def step():
            self.grad += out.data * out.grad

        out._step = step
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def step():
            self.grad += (1.0 - out.data * out.data) * out.grad

        out._step = step
        return out

    def relu(self):
        out = Value(self.data if self.data > 0 else 0.0, (self,))

        def step():
            self.grad += (1.0 if self.data > 0 else 0.0) * out.grad

        out._step = step
        return out

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        order = []
        seen = set()
        stack = [self]
        while stack:
            top = stack[-1]
            waiting = [c for c in top._children if id(c) not in seen]
            if id(top) in seen:
                stack.pop()
            elif waiting:
                stack.extend(waiting)
            else:
                seen.add(id(top))
                order.append(stack.pop())
        for v in order:
            if v._step is not None:
                v.grad = 0.0
        self.grad += 1.0
        while order:
            v = order.pop()
            if v._step is not None:
                v._step()
