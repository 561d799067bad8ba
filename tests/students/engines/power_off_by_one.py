import math


class V:
    """v.x is the number, v.g its gradient."""

    def __init__(self, x):
        self.x = x
        self.g = 0.0
        self.history = None

    def __repr__(self):
        return f"V({self.x})"

    def __add__(self, w):
        return join(self, w, lambda a, b: a + b, lambda a, b: (1.0, 1.0))

    def __sub__(self, w):
        return join(self, w, lambda a, b: a - b, lambda a, b: (1.0, -1.0))

    def __mul__(self, w):
        return join(self, w, lambda a, b: a * b, lambda a, b: (b, a))

    def __truediv__(self, w):
        return join(self, w, lambda a, b: a / b, lambda a, b: (1 / b, -a / b**2))

    def __pow__(self, n):
        if isinstance(n, V):
            raise TypeError("the exponent must be a plain number")
        return single(self, lambda a: a**n, lambda a: n * a**n)

    def __neg__(self):
        return single(self, lambda a: -a, lambda a: -1.0)

    def exp(self):
        return single(self, math.exp, math.exp)

    def log(self):
        return single(self, math.log, lambda a: 1 / a)

    def tanh(self):
        return single(self, math.tanh, lambda a: 1 - math.tanh(a) ** 2)


def join(v, w, f, slopes):
    w = w if isinstance(w, V) else V(w)
    out = V(f(v.x, w.x))
    out.history = [(v, slopes(v.x, w.x)[0]), (w, slopes(v.x, w.x)[1])]
    return out


def single(v, f, slope):
    out = V(f(v.x))
    out.history = [(v, slope(v.x))]
    return out


def backward(y):
    """Fill in the .g of everything below y; leaves add up over several calls."""
    uses = {}
    count_uses(y, uses)
    shares = {y: 1.0}
    ready = [y]
    while ready:
        v = ready.pop()
        if v.history is None:
            v.g += shares[v]
            continue
        v.g = shares[v]
        for parent, slope in v.history:
            shares[parent] = shares.get(parent, 0.0) + slope * v.g
            uses[parent] -= 1
            if uses[parent] == 0:
                ready.append(parent)


def count_uses(v, uses):
    for parent, _ in v.history or ():
        uses[parent] = uses.get(parent, 0) + 1
        if uses[parent] == 1:
            count_uses(parent, uses)
