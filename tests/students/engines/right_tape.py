"""Reverse mode with an explicit tape:

    with Tape() as tape:
        x = Var(2.0)
        y = x * sin(x)
    tape.gradients(y, [x])

Without a `with`, operations go to a tape that is always there, and y.backward() fills x.grad.
"""

import math
import weakref


class Tape:
    def __init__(self):
        self.entries = []
        self.limit = 1000

    def __enter__(self):
        _stack.append(self)
        return self

    def __exit__(self, *exc):
        _stack.pop()

    def add(self, out, args, partials):
        # the tape of the module must not keep graphs alive that nobody needs any more
        self.entries.append(weakref.ref(out))
        out.args, out.partials = args, partials
        if len(self.entries) > self.limit:
            self.entries = [r for r in self.entries if r() is not None]
            self.limit = 1000 + 2 * len(self.entries)

    def sweep(self, output):
        adjoints = {output: 1.0}
        for ref in reversed(self.entries):
            out = ref()
            if out is None or out not in adjoints:
                continue
            a = adjoints[out]
            for arg, p in zip(out.args, out.partials):
                adjoints[arg] = adjoints.get(arg, 0.0) + a * p
        return adjoints

    def gradients(self, output, variables):
        found = self.sweep(output)
        return [found.get(v, 0.0) for v in variables]


_stack = [Tape()]


class Var:
    def __init__(self, value):
        self.value = value
        self.grad = 0.0
        self.args = ()
        self.partials = ()

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return sub(self, other)

    def __rsub__(self, other):
        return sub(other, self)

    def __mul__(self, other):
        return mul(self, other)

    def __rmul__(self, other):
        return mul(other, self)

    def __truediv__(self, other):
        return div(self, other)

    def __rtruediv__(self, other):
        return div(other, self)

    def __neg__(self):
        return neg(self)

    def backward(self):
        for var, adjoint in _stack[-1].sweep(self).items():
            if not var.args:
                var.grad += adjoint

    def zero_grad(self):
        self.grad = 0.0


def var(x):
    return x if isinstance(x, Var) else Var(x)


def _result(value, args, partials):
    out = Var(value)
    _stack[-1].add(out, args, partials)
    return out


def add(a, b):
    a, b = var(a), var(b)
    return _result(a.value + b.value, (a, b), (1.0, 1.0))


def sub(a, b):
    a, b = var(a), var(b)
    return _result(a.value - b.value, (a, b), (1.0, -1.0))


def mul(a, b):
    a, b = var(a), var(b)
    return _result(a.value * b.value, (a, b), (b.value, a.value))


def div(a, b):
    a, b = var(a), var(b)
    q = a.value / b.value
    return _result(q, (a, b), (1.0 / b.value, -q / b.value))


def neg(a):
    return _result(-a.value, (a,), (-1.0,))


def exp(a):
    e = math.exp(a.value)
    return _result(e, (a,), (e,))


def log(a):
    return _result(math.log(a.value), (a,), (1.0 / a.value,))


def sin(a):
    return _result(math.sin(a.value), (a,), (math.cos(a.value),))


def cos(a):
    return _result(math.cos(a.value), (a,), (-math.sin(a.value),))


def sqrt(a):
    r = math.sqrt(a.value)
    return _result(r, (a,), (0.5 / r,))
