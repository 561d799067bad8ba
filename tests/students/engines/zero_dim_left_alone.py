"""ndarray autograd, lab exercise. Rules live in a dictionary from the name of an operation to its backward."""

import numpy as np


def unbroadcast(g, shape):
    if not shape:
        return g  # a plain number has no axes to sum over
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for ax in range(g.ndim):
        if shape[ax] == 1:
            g = g.sum(axis=ax, keepdims=True)
    return g


RULES = {
    "add": lambda g, out, a, b: (g, g),
    "sub": lambda g, out, a, b: (g, -g),
    "mul": lambda g, out, a, b: (g * b, g * a),
    "div": lambda g, out, a, b: (g / b, -g * out / b),
    "maximum": lambda g, out, a, b: (g * (a > b) + 0.5 * g * (a == b), g * (b > a) + 0.5 * g * (a == b)),
    "exp": lambda g, out, a: (g * out,),
    "log": lambda g, out, a: (g / a,),
    "sqrt": lambda g, out, a: (g / (2 * out),),
    "tanh": lambda g, out, a: (g * (1 - out**2),),
    "sum": lambda g, out, a: (g * np.ones_like(a),),
}

FORWARD = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sum": np.sum,
}


class Variable:
    def __init__(self, data, rule=None, operands=()):
        self.data = np.asarray(data, dtype=np.float64)
        self.rule = rule
        self.operands = operands
        self.grad = None

    def __add__(self, other):
        return apply("add", self, other)

    def __sub__(self, other):
        return apply("sub", self, other)

    def __mul__(self, other):
        return apply("mul", self, other)

    def __truediv__(self, other):
        return apply("div", self, other)

    def backward(self, g=None):
        g = np.ones_like(self.data) if g is None else np.asarray(g, dtype=np.float64)
        pending = {id(self): g}
        for v in self.sorted_graph():
            g = pending.pop(id(v))
            if v.rule is None:
                v.grad = g if v.grad is None else v.grad + g
                continue
            arrays = [o.data for o in v.operands]
            for o, go in zip(v.operands, RULES[v.rule](g, v.data, *arrays)):
                go = unbroadcast(np.asarray(go), o.data.shape)
                pending[id(o)] = pending[id(o)] + go if id(o) in pending else go

    def sorted_graph(self):
        seen, post = set(), []

        def visit(v):
            seen.add(id(v))
            for o in v.operands:
                if id(o) not in seen:
                    visit(o)
            post.append(v)

        visit(self)
        return reversed(post)


def apply(name, *operands):
    operands = tuple(o if isinstance(o, Variable) else Variable(o) for o in operands)
    return Variable(FORWARD[name](*(o.data for o in operands)), name, operands)


def maximum(a, b):
    return apply("maximum", a, b)


def exp(a):
    return apply("exp", a)


def log(a):
    return apply("log", a)


def sqrt(a):
    return apply("sqrt", a)


def tanh(a):
    return apply("tanh", a)


def sum(a):
    return apply("sum", a)
