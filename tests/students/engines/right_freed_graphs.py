"""Numpy tensors. A graph is freed when it has been walked, unless backward(keep_graph=True)."""

import numpy as np


class FreedError(RuntimeError):
    pass


class Tensor:
    def __init__(self, value, requires_grad=False):
        self.value = np.array(value, dtype=np.float64)
        self.requires_grad = requires_grad
        self.grad = None
        self.parents = []
        self.pulls = None
        self.freed = False

    def backward(self, seed=None, keep_graph=False):
        if not self.requires_grad:
            raise RuntimeError("there is nothing to differentiate")
        if seed is None:
            if self.value.size != 1:
                raise RuntimeError("give a seed, the output is not a single number")
            seed = np.ones_like(self.value)
        order = []
        self._order(order, set())
        for t in order:
            if t.freed:
                raise FreedError("the graph was freed, use keep_graph=True")
        totals = {id(self): np.array(seed, dtype=np.float64)}
        for t in reversed(order):
            total = totals.pop(id(t))
            if not t.parents:
                t.grad = total.copy() if t.grad is None else t.grad + total
            for parent, pull in zip(t.parents, t.pulls or ()):
                if parent.requires_grad:
                    part = pull(total)
                    totals[id(parent)] = totals[id(parent)] + part if id(parent) in totals else part
        if not keep_graph:
            for t in order:
                if t.parents:
                    t.parents, t.pulls, t.freed = [], None, True

    def _order(self, order, seen):
        if id(self) not in seen:
            seen.add(id(self))
            for p in self.parents:
                if p.requires_grad:
                    p._order(order, seen)
            order.append(self)

    def zero_grad(self):
        self.grad = None

    def __add__(self, other):
        other = _tensor(other)
        return _made(self.value + other.value, (self, _like(self)), (other, _like(other)))

    def __mul__(self, other):
        other = _tensor(other)
        fa, fb = _like(self), _like(other)
        a, b = self.value, other.value
        return _made(a * b, (self, lambda g: fa(g * b)), (other, lambda g: fb(g * a)))

    def __sub__(self, other):
        return self + (-_tensor(other))

    def __neg__(self):
        return _made(-self.value, (self, lambda g: -g))

    def __radd__(self, other):
        return _tensor(other) + self

    def __rmul__(self, other):
        return _tensor(other) * self

    def __rsub__(self, other):
        return _tensor(other) - self

    def relu(self):
        mask = self.value > 0
        return _made(np.where(mask, self.value, 0.0), (self, lambda g: np.where(mask, g, 0.0)))

    def exp(self):
        e = np.exp(self.value)
        return _made(e, (self, lambda g: g * e))

    def sum(self, axis=None, keepdims=False):
        shape = self.value.shape

        def pull(g):
            if axis is not None and not keepdims:
                g = np.expand_dims(g, axis)
            return np.array(np.broadcast_to(g, shape))

        return _made(self.value.sum(axis=axis, keepdims=keepdims), (self, pull))

    def softmax(self, axis=-1):
        e = np.exp(self.value - self.value.max(axis=axis, keepdims=True))
        s = e / e.sum(axis=axis, keepdims=True)
        return _made(s, (self, lambda g: s * (g - (g * s).sum(axis=axis, keepdims=True))))


def _tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def _made(value, *links):
    out = Tensor(value, any(t.requires_grad for t, _ in links))
    if out.requires_grad:
        out.parents = [t for t, _ in links]
        out.pulls = [pull for _, pull in links]
    return out


def _like(t):
    shape = t.value.shape

    def pull(g):
        g = np.asarray(g)
        while g.ndim > len(shape):
            g = g.sum(axis=0)
        for axis, n in enumerate(shape):
            if n == 1:
                g = g.sum(axis=axis, keepdims=True)
        return g

    return pull
