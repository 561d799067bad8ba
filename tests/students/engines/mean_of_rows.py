import numpy as np

# My own little torch. Supports what the MLP of the exercise needs.


class Tensor:
    def __init__(self, data, requires_grad=False, parents=(), backward_fn=None):
        self.data = np.array(data, dtype=float)
        self.requires_grad = requires_grad or any(p.requires_grad for p in parents)
        self.parents = parents
        self.backward_fn = backward_fn
        self.grad = None

    def numpy(self):
        return self.data

    def __add__(self, other):
        other = as_tensor(other)

        def backward_fn(g):
            return fit(g, self.data), fit(g, other.data)

        return Tensor(self.data + other.data, parents=(self, other), backward_fn=backward_fn)

    __radd__ = __add__

    def __mul__(self, other):
        other = as_tensor(other)

        def backward_fn(g):
            return fit(g * other.data, self.data), fit(g * self.data, other.data)

        return Tensor(self.data * other.data, parents=(self, other), backward_fn=backward_fn)

    __rmul__ = __mul__

    def __neg__(self):
        return Tensor(-self.data, parents=(self,), backward_fn=lambda g: (-g,))

    def __sub__(self, other):
        return self + (-as_tensor(other))

    def __matmul__(self, other):
        if self.data.ndim != 2 or other.data.ndim != 2:
            raise NotImplementedError("@ is only for matrices")

        def backward_fn(g):
            return g @ other.data.T, self.data.T @ g

        return Tensor(self.data @ other.data, parents=(self, other), backward_fn=backward_fn)

    def relu(self):
        return Tensor(np.maximum(self.data, 0), parents=(self,), backward_fn=lambda g: (g * (self.data > 0),))

    def tanh(self):
        t = np.tanh(self.data)
        return Tensor(t, parents=(self,), backward_fn=lambda g: (g * (1 - t * t),))

    def sum(self):
        return Tensor(self.data.sum(), parents=(self,), backward_fn=lambda g: (g * np.ones_like(self.data),))

    def mean(self):
        def backward_fn(g):
            return (g * np.ones_like(self.data) / len(self.data),)

        return Tensor(self.data.mean(), parents=(self,), backward_fn=backward_fn)

    def backward(self, grad=None):
        if not self.requires_grad:
            raise RuntimeError("backward of something without a graph")
        if grad is None:
            if self.data.size != 1:
                raise RuntimeError("a gradient is needed unless the output is one number")
            grad = np.ones_like(self.data)
        grads = {self: np.asarray(grad, dtype=float)}
        for node in toposort(self):
            g = grads.pop(node)
            if node.backward_fn is None:
                node.grad = g if node.grad is None else node.grad + g
                continue
            for p, pg in zip(node.parents, node.backward_fn(g)):
                if p.requires_grad:
                    grads[p] = grads[p] + pg if p in grads else pg

    def zero_grad(self):
        self.grad = None


def toposort(root):
    post, seen = [], {root}

    def down(node):
        for p in node.parents:
            if p.requires_grad and p not in seen:
                seen.add(p)
                down(p)
        post.append(node)

    down(root)
    return post[::-1]


def fit(g, like):
    for _ in range(g.ndim - like.ndim):
        g = g.sum(0)
    for i, n in enumerate(like.shape):
        if n == 1:
            g = g.sum(i, keepdims=True)
    return g


def as_tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)
