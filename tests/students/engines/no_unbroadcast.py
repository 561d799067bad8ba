import numpy as np


class Tensor:
    """ndarray with a gradient"""

    def __init__(self, data, parents=(), requires_grad=True):
        self.data = np.asarray(data, dtype=float)
        self.parents = parents
        self.requires_grad = requires_grad
        self.grad = None
        self._grad_fn = None

    def _accumulate(self, g):
        if not self.requires_grad:
            return
        if self.grad is None:
            self.grad = g
        else:
            self.grad = self.grad + g

    def __add__(self, other):
        other = ensure(other)
        out = Tensor(self.data + other.data, (self, other))

        def grad_fn(g):
            self._accumulate(g)
            other._accumulate(g)

        out._grad_fn = grad_fn
        return out

    def __mul__(self, other):
        other = ensure(other)
        out = Tensor(self.data * other.data, (self, other))

        def grad_fn(g):
            self._accumulate(g * other.data)
            other._accumulate(g * self.data)

        out._grad_fn = grad_fn
        return out

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + (-ensure(other))

    def sum(self):
        out = Tensor(self.data.sum(), (self,))

        def grad_fn(g):
            self._accumulate(np.full(self.data.shape, g))

        out._grad_fn = grad_fn
        return out

    def exp(self):
        out = Tensor(np.exp(self.data), (self,))

        def grad_fn(g):
            self._accumulate(g * out.data)

        out._grad_fn = grad_fn
        return out

    def tanh(self):
        out = Tensor(np.tanh(self.data), (self,))

        def grad_fn(g):
            self._accumulate(g * (1 - out.data**2))

        out._grad_fn = grad_fn
        return out

    def zero_grad(self):
        self.grad = None

    def backward(self, grad=None):
        if grad is None:
            grad = np.ones_like(self.data)
        order = self._sorted()
        for t in order:
            if t.parents:
                t.grad = None  # inner gradients are of this call alone
        self._accumulate(np.asarray(grad, dtype=float))
        for t in reversed(order):
            if t._grad_fn and t.grad is not None:
                t._grad_fn(t.grad)

    def _sorted(self):
        result, seen = [], set()

        def dfs(t):
            if id(t) not in seen:
                seen.add(id(t))
                for p in t.parents:
                    dfs(p)
                result.append(t)

        dfs(self)
        return result


def ensure(x):
    return x if isinstance(x, Tensor) else Tensor(x, requires_grad=False)
