import numpy as np


class Function:
    """Base class of all operations. A subclass has a forward and a backward."""

    def __init__(self, *inputs):
        self.inputs = inputs

    @classmethod
    def apply(cls, *inputs, **options):
        inputs = [t if isinstance(t, Tensor) else Tensor(t) for t in inputs]
        fn = cls(*inputs)
        out = Tensor(fn.forward(*[t.data for t in inputs], **options))
        out.fn = fn
        return out


def reduce_to(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for i, n in enumerate(shape):
        if n == 1 and grad.shape[i] != 1:
            grad = grad.sum(axis=i, keepdims=True)
    return grad


class Add(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a + b

    def backward(self, grad):
        return reduce_to(grad, self.shapes[0]), reduce_to(grad, self.shapes[1])


class Mul(Function):
    def forward(self, a, b):
        self.a, self.b = a, b
        return a * b

    def backward(self, grad):
        return reduce_to(grad * self.b, self.a.shape), reduce_to(grad * self.a, self.b.shape)


class Sub(Function):
    def forward(self, a, b):
        self.shapes = a.shape, b.shape
        return a - b

    def backward(self, grad):
        return reduce_to(grad, self.shapes[0]), reduce_to(-grad, self.shapes[1])


class MatMul(Function):
    def forward(self, a, b):
        if a.ndim != 2 or b.ndim != 2:
            raise ValueError("matmul is for two matrices")
        self.a, self.b = a, b
        return a @ b

    def backward(self, grad):
        return grad @ self.b.T, self.a.T @ grad


class ReLU(Function):
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad):
        return (grad * self.mask,)


class Exp(Function):
    def forward(self, x):
        self.y = np.exp(x)
        return self.y

    def backward(self, grad):
        return (grad * self.y,)


class Sum(Function):
    def forward(self, x):
        self.shape = x.shape
        return x.sum()

    def backward(self, grad):
        return (np.ones(self.shape) * grad,)


class Tensor:
    def __init__(self, data):
        self.data = np.array(data, dtype=np.float64)
        self.grad = None
        self.fn = None

    @property
    def shape(self):
        return self.data.shape

    def __add__(self, other):
        return Add.apply(self, other)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __sub__(self, other):
        return Sub.apply(self, other)

    def __matmul__(self, other):
        return MatMul.apply(self, other)

    def relu(self):
        return ReLU.apply(self)

    def exp(self):
        return Exp.apply(self)

    def sum(self):
        return Sum.apply(self)

    def backward(self, grad=None):
        self.grad = np.ones_like(self.data) if grad is None else np.array(grad, dtype=np.float64)
        order, seen = [], set()

        def walk(t):
            if id(t) in seen:
                return
            seen.add(id(t))
            if t.fn is not None:
                for parent in t.fn.inputs:
                    walk(parent)
            order.append(t)

        walk(self)
        for t in reversed(order):
            if t.fn is None:
                continue
            for parent, g in zip(t.fn.inputs, t.fn.backward(t.grad)):
                parent.grad = g
