"""A calculator that knows derivatives.

>>> x = Quantity(3.0)
>>> y = x * x + x.sin()
>>> y.backpropagate()
>>> round(x.derivative, 3)
5.01
"""

import math


def _slopes_of_product(a, b, _):
    return b, a


def _slopes_of_quotient(a, b, q):
    return 1 / b, -q / b


OPERATIONS = {
    "+": (lambda a, b: a + b, lambda a, b, y: (1.0, 1.0)),
    "-": (lambda a, b: a - b, lambda a, b, y: (1.0, -1.0)),
    "*": (lambda a, b: a * b, _slopes_of_product),
    "/": (lambda a, b: a / b, _slopes_of_quotient),
    "neg": (lambda a: -a, lambda a, y: (-1.0,)),
    "exp": (math.exp, lambda a, y: (y,)),
    "log": (math.log, lambda a, y: (1 / a,)),
    "sin": (math.sin, lambda a, y: (math.cos(a),)),
    "cos": (math.cos, lambda a, y: (-math.sin(a),)),
    "tanh": (math.tanh, lambda a, y: (1 - y * y,)),
    "sqrt": (math.sqrt, lambda a, y: (0.5 / y,)),
}


class Quantity:
    """A number with the operation that made it. The depth is larger than that of all its operands."""

    def __init__(self, number, operation=None, operands=()):
        self.number = number
        self.operation = operation
        self.operands = operands
        self.depth = 1 + max((o.depth for o in operands), default=-1)
        self.derivative = 0.0

    @staticmethod
    def compute(operation, *operands):
        operands = [o if isinstance(o, Quantity) else Quantity(float(o)) for o in operands]
        numbers = [o.number for o in operands]
        return Quantity(OPERATIONS[operation][0](*numbers), operation, operands)

    def __add__(self, other):
        return Quantity.compute("+", self, other)

    def __sub__(self, other):
        return Quantity.compute("-", self, other)

    def __mul__(self, other):
        return Quantity.compute("*", self, other)

    def __truediv__(self, other):
        return Quantity.compute("/", self, other)

    def __radd__(self, other):
        return Quantity.compute("+", other, self)

    def __rsub__(self, other):
        return Quantity.compute("-", other, self)

    def __rmul__(self, other):
        return Quantity.compute("*", other, self)

    def __rtruediv__(self, other):
        return Quantity.compute("/", other, self)

    def __neg__(self):
        return Quantity.compute("neg", self)

    def exp(self):
        return Quantity.compute("exp", self)

    def log(self):
        return Quantity.compute("log", self)

    def sin(self):
        return Quantity.compute("sin", self)

    def cos(self):
        return Quantity.compute("cos", self)

    def tanh(self):
        return Quantity.compute("tanh", self)

    def sqrt(self):
        return Quantity.compute("sqrt", self)

    def reset(self):
        self.derivative = 0.0

    def backpropagate(self):
        """Add the derivatives of this number to those of the numbers that were put in."""
        layers = {self.depth: {id(self): self}}
        share = {id(self): 1.0}
        for depth in range(self.depth, -1, -1):
            for q in layers.pop(depth, {}).values():
                s = share.pop(id(q))
                if q.operation is None:
                    q.derivative += s
                    continue
                numbers = [o.number for o in q.operands]
                for o, slope in zip(q.operands, OPERATIONS[q.operation][1](*numbers, q.number)):
                    share[id(o)] = share.get(id(o), 0.0) + slope * s
                    layers.setdefault(o.depth, {})[id(o)] = o
