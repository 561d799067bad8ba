import math


class Scalar(object):
    """Number with a derivative. Both the base and the exponent of ** may be Scalars."""

    def __init__(self, value, _from=(), _pull=None):
        self.value = value
        self.grad = 0
        self._from = _from
        self._pull = _pull

    def __repr__(self):
        return "Scalar(%r)" % self.value

    def __add__(self, other):
        other = Scalar.of(other)
        return Scalar(self.value + other.value, (self, other), lambda g: (g, g))

    def __sub__(self, other):
        other = Scalar.of(other)
        return Scalar(self.value - other.value, (self, other), lambda g: (g, -g))

    def __mul__(self, other):
        other = Scalar.of(other)
        return Scalar(self.value * other.value, (self, other), lambda g: (g * other.value, g * self.value))

    def __truediv__(self, other):
        other = Scalar.of(other)
        q = self.value / other.value
        return Scalar(q, (self, other), lambda g: (g / other.value, -g * q / other.value))

    def __pow__(self, other):
        other = Scalar.of(other)
        p = self.value**other.value
        return Scalar(p, (self,), lambda g: (g * other.value * self.value ** (other.value - 1),))

    def __neg__(self):
        return Scalar(-self.value, (self,), lambda g: (-g,))

    def __radd__(self, other):
        return Scalar.of(other) + self

    def __rsub__(self, other):
        return Scalar.of(other) - self

    def __rmul__(self, other):
        return Scalar.of(other) * self

    def __rtruediv__(self, other):
        return Scalar.of(other) / self

    def __rpow__(self, other):
        return Scalar.of(other) ** self

    def exp(self):
        e = math.exp(self.value)
        return Scalar(e, (self,), lambda g: (g * e,))

    def log(self):
        return Scalar(math.log(self.value), (self,), lambda g: (g / self.value,))

    def sqrt(self):
        r = math.sqrt(self.value)
        return Scalar(r, (self,), lambda g: (g * 0.5 / r,))

    @staticmethod
    def of(x):
        return x if isinstance(x, Scalar) else Scalar(x)

    def backward(self, g=1.0):
        shares = {id(self): g}
        for node in self._graph():
            share = shares.pop(id(node))
            if node._pull is None:
                node.grad += share
            else:
                for parent, part in zip(node._from, node._pull(share)):
                    shares[id(parent)] = shares.get(id(parent), 0.0) + part

    def _graph(self):
        """All nodes, results before their operands."""
        marks, out = set(), []

        def go(n):
            marks.add(id(n))
            for p in n._from:
                if id(p) not in marks:
                    go(p)
            out.insert(0, n)

        go(self)
        return out
