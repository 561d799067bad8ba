"""Differentiation of expressions. Call y.backprop(), then look at x.derivative."""

import math


class Expr:
    def __init__(self, value, parts=()):
        self.value = value
        self.parts = parts
        self.derivative = 0.0

    def spread(self):
        """Add to the derivatives of the parts."""

    def ordered(self):
        result, stack, state = [], [self], {}
        while stack:
            e = stack[-1]
            if state.get(id(e)) == "done":
                stack.pop()
            elif id(e) in state:
                state[id(e)] = "done"
                result.append(stack.pop())
            else:
                state[id(e)] = "open"
                stack += [p for p in e.parts if id(p) not in state]
        return result

    def backprop(self):
        order = self.ordered()
        for e in order:
            if e.parts:
                e.derivative = 0.0
        self.derivative += 1.0
        for e in reversed(order):
            e.spread()

    def __add__(self, other):
        return Add(self, other)

    def __radd__(self, other):
        return Add(other, self)

    def __sub__(self, other):
        return Sub(self, other)

    def __rsub__(self, other):
        return Sub(other, self)

    def __mul__(self, other):
        return Mul(self, other)

    def __rmul__(self, other):
        return Mul(other, self)

    def __truediv__(self, other):
        return Div(self, other)

    def __rtruediv__(self, other):
        return Div(other, self)

    def exp(self):
        return Exp(self)

    def sin(self):
        return Sin(self)


class Var(Expr):
    pass


class Binary(Expr):
    def __init__(self, a, b):
        self.a = a if isinstance(a, Expr) else Var(a)
        self.b = b if isinstance(b, Expr) else Var(b)
        super().__init__(self.f(self.a.value, self.b.value), (self.a, self.b))


class Unary(Expr):
    def __init__(self, a):
        self.a = a
        super().__init__(self.f(a.value), (a,))


class Add(Binary):
    def f(self, a, b):
        return a + b

    def spread(self):
        self.a.derivative += self.derivative
        self.b.derivative += self.derivative


class Sub(Binary):
    def f(self, a, b):
        return a - b

    def spread(self):
        self.a.derivative += self.derivative
        self.b.derivative -= self.derivative


class Mul(Binary):
    def f(self, a, b):
        return a * b

    def spread(self):
        self.a.derivative += self.derivative * self.b.value
        self.b.derivative += self.derivative * self.a.value


class Div(Binary):
    def f(self, a, b):
        return a / b

    def spread(self):
        self.a.derivative += 1 / self.b.value
        self.b.derivative += -self.a.value / self.b.value**2


class Exp(Unary):
    def f(self, a):
        return math.exp(a)

    def spread(self):
        self.a.derivative += self.derivative * self.value


class Sin(Unary):
    def f(self, a):
        return math.sin(a)

    def spread(self):
        self.a.derivative += self.derivative * math.cos(self.a.value)
