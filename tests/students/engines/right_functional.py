"""Gradients of functions. `grad(f)` returns a function, `vjp(f, *xs)` the value and a pullback.

Functions of this module work on numbers, on arrays, and on traced arrays while a gradient is taken.
"""

import numpy as np


class Traced:
    __array_priority__ = 1000

    def __init__(self, array, links=()):
        self.array = array
        self.links = links  # (traced operand, pullback)

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return subtract(self, other)

    def __rsub__(self, other):
        return subtract(other, self)

    def __mul__(self, other):
        return multiply(self, other)

    def __rmul__(self, other):
        return multiply(other, self)

    def __truediv__(self, other):
        return divide(self, other)

    def __rtruediv__(self, other):
        return divide(other, self)

    def __neg__(self):
        return negative(self)


def primitive(forward, *rules):
    """Make a function of traced arrays; a rule takes the output's gradient, the output and the operands."""

    def function(*operands):
        arrays = [o.array if isinstance(o, Traced) else np.asarray(o, dtype=np.float64) for o in operands]
        out = np.asarray(forward(*arrays))
        links = []
        for o, a, rule in zip(operands, arrays, rules):
            if isinstance(o, Traced):
                links.append((o, lambda g, rule=rule, a=a: sum_down(rule(g, out, *arrays), a.shape)))
        return Traced(out, links) if links else out

    return function


def sum_down(g, shape):
    g = np.asarray(g)
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i, n in enumerate(shape):
        if n == 1:
            g = g.sum(axis=i, keepdims=True)
    return g


add = primitive(np.add, lambda g, y, a, b: g, lambda g, y, a, b: g)
subtract = primitive(np.subtract, lambda g, y, a, b: g, lambda g, y, a, b: -g)
multiply = primitive(np.multiply, lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)
divide = primitive(np.divide, lambda g, y, a, b: g / b, lambda g, y, a, b: -g * y / b)
negative = primitive(np.negative, lambda g, y, a: -g)
exp = primitive(np.exp, lambda g, y, a: g * y)
log = primitive(np.log, lambda g, y, a: g / a)
sin = primitive(np.sin, lambda g, y, a: g * np.cos(a))
cos = primitive(np.cos, lambda g, y, a: -g * np.sin(a))
tanh = primitive(np.tanh, lambda g, y, a: g * (1 - y * y))
sum = primitive(np.sum, lambda g, y, a: g * np.ones_like(a))


def vjp(f, *xs):
    inputs = [Traced(np.asarray(x, dtype=np.float64)) for x in xs]
    out = f(*inputs)

    def pullback(g):
        totals = {}
        if isinstance(out, Traced):
            totals[id(out)] = np.asarray(g, dtype=np.float64)
            for node in results_first(out):
                for operand, pull in node.links:
                    share = pull(totals[id(node)])
                    totals[id(operand)] = totals[id(operand)] + share if id(operand) in totals else share
        return tuple(totals.get(id(i), np.zeros_like(i.array)) for i in inputs)

    return (out.array if isinstance(out, Traced) else np.asarray(out)), pullback


def results_first(out):
    post, state = [], set()
    stack = [(out, False)]
    while stack:
        node, closing = stack.pop()
        if closing:
            post.append(node)
        elif id(node) not in state:
            state.add(id(node))
            stack.append((node, True))
            for operand, _ in node.links:
                stack.append((operand, False))
    return post[::-1]


def value_and_grad(f, argnum=0):
    def both(*xs):
        y, pullback = vjp(f, *xs)
        if y.shape:
            raise TypeError("grad is for functions with a single number as their result")
        return y, pullback(1.0)[argnum]

    return both


def grad(f, argnum=0):
    return lambda *xs: value_and_grad(f, argnum)(*xs)[1]
