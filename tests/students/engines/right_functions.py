"""Array autograd: one class per operation, requires_grad, broadcasting, gradients that add up."""

import numpy as np


class Function:
    def __init__(self, *parents):
        self.parents = parents
        self.needs = [p.requires_grad for p in parents]

    @classmethod
    def on(cls, *operands, **settings):
        parents = [p if isinstance(p, Tensor) else Tensor(p) for p in operands]
        self = cls(*parents)
        out = Tensor(self.forward(*(p.data for p in parents), **settings))
        if any(self.needs):
            out.requires_grad = True
            out.grad_fn = self
        return out


def unbroadcast(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape)))) if g.ndim > len(shape) else g
    ones = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=ones, keepdims=True) if ones else g


class Add(Function):
    def forward(self, a, b):
        self.sa, self.sb = a.shape, b.shape
        return a + b

    def backward(self, g):
        return unbroadcast(g, self.sa), unbroadcast(g, self.sb)


class Mul(Function):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a * b

    def backward(self, g):
        return unbroadcast(g * self.b, self.a.shape), unbroadcast(g * self.a, self.b.shape)


class Div(Function):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a / b

    def backward(self, g):
        return unbroadcast(g / self.b, self.a.shape), unbroadcast(-g * self.a / self.b / self.b, self.b.shape)


class MatMul(Function):
    def forward(self, a, b):
        if a.ndim != 2 or b.ndim != 2:
            raise NotImplementedError("matmul of anything but two matrices")
        self.a, self.b = a, b
        return a @ b

    def backward(self, g):
        return g @ self.b.T, self.a.T @ g


class Exp(Function):
    def forward(self, a):
        self.out = np.exp(a)
        return self.out

    def backward(self, g):
        return (g * self.out,)


class Log(Function):
    def forward(self, a):
        self.a = a
        return np.log(a)

    def backward(self, g):
        return (g / self.a,)


class Tanh(Function):
    def forward(self, a):
        self.out = np.tanh(a)
        return self.out

    def backward(self, g):
        return (g * (1 - self.out * self.out),)


class Sum(Function):
    def forward(self, a, axis, keepdims):
        self.shape = a.shape
        self.axis = None if keepdims else axis
        return a.sum(axis=axis, keepdims=keepdims)

    def backward(self, g):
        if self.axis is not None:
            g = np.expand_dims(g, self.axis)
        return (np.array(np.broadcast_to(g, self.shape)),)


class Reshape(Function):
    def forward(self, a, shape):
        self.shape = a.shape
        return a.reshape(shape)

    def backward(self, g):
        return (g.reshape(self.shape),)


class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data = np.array(data, dtype=np.float64)
        self.requires_grad = requires_grad
        self.grad = None
        self.grad_fn = None

    def __add__(self, other):
        return Add.on(self, other)

    def __radd__(self, other):
        return Add.on(other, self)

    def __sub__(self, other):
        return self + Mul.on(other, -1.0)

    def __rsub__(self, other):
        return other + self * -1.0

    def __mul__(self, other):
        return Mul.on(self, other)

    def __rmul__(self, other):
        return Mul.on(other, self)

    def __truediv__(self, other):
        return Div.on(self, other)

    def __rtruediv__(self, other):
        return Div.on(other, self)

    def __matmul__(self, other):
        return MatMul.on(self, other)

    def exp(self):
        return Exp.on(self)

    def log(self):
        return Log.on(self)

    def tanh(self):
        return Tanh.on(self)

    def sum(self, axis=None, keepdims=False):
        return Sum.on(self, axis=axis, keepdims=keepdims)

    def reshape(self, shape):
        return Reshape.on(self, shape=shape)

    def zero_grad(self):
        self.grad = None

    def backward(self, grad=None):
        if not self.requires_grad:
            raise RuntimeError("backward() of a tensor that does not require grad")
        if grad is None:
            if self.data.shape:
                raise RuntimeError("backward() of an array needs a gradient")
            grad = 1.0
        grads = {id(self): np.array(grad, dtype=np.float64)}
        for t in self._newest_first():
            g = grads.pop(id(t))
            if t.grad_fn is None:
                t.grad = g.copy() if t.grad is None else t.grad + g
                continue
            fn = t.grad_fn
            for p, needed, gp in zip(fn.parents, fn.needs, fn.backward(g)):
                if needed:
                    grads[id(p)] = grads[id(p)] + gp if id(p) in grads else gp

    def _newest_first(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            t, ready = stack.pop()
            if ready:
                order.append(t)
            elif id(t) not in seen:
                seen.add(id(t))
                stack.append((t, True))
                if t.grad_fn:
                    stack.extend((p, False) for p, n in zip(t.grad_fn.parents, t.grad_fn.needs) if n)
        return reversed(order)
