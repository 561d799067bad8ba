"""The source of a small engine of Python floats, whose gradients are right, and changes that make them wrong."""

from __future__ import annotations

from typing import Final

SOURCE: Final = """
import math

class Value:
    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents, self.send = data, 0.0, parents, lambda: None

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))
        def send():
            self.grad += out.grad
            other.grad += out.grad
        out.send = send
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))
        def send():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out.send = send
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))
        def send():
            self.grad += (1 - out.data**2) * out.grad
        out.send = send
        return out

    def backward(self):
        order = []
        def visit(value):
            if value not in order:
                for parent in value.parents:
                    visit(parent)
                order.append(value)
        visit(self)
        self.grad = 1.0
        for value in reversed(order):
            value.send()
"""

PRODUCT_ASSIGNS: Final = SOURCE.replace("self.grad += other.data", "self.grad = other.data")
"""A product assigns the gradient of its first operand, where it should add to it."""

SECOND_FACTOR_ASSIGNS: Final = SOURCE.replace("other.grad += self.data", "other.grad = self.data")
"""A product assigns the gradient of its second operand."""

SUM_ASSIGNS: Final = SOURCE.replace("self.grad += out.grad", "self.grad = out.grad")
"""A sum assigns the gradient of its first operand."""

TANH_ASSIGNS: Final = SOURCE.replace("self.grad += (1", "self.grad = (1")
"""The hyperbolic tangent assigns the gradient of its operand."""

ALL_ASSIGN: Final = SOURCE.replace("grad += ", "grad = ")
"""No operator adds to gradients."""

WRONG_PRODUCT: Final = SOURCE.replace("self.grad += other.data", "self.grad += self.data")
"""The derivative of a product is wrong."""

EARLY_PARENTS: Final = SOURCE.replace("                order.append(value)\n", "").replace(
    "                for parent in", "                order.append(value)\n                for parent in"
)
"""A backward visits a result before all results that use it."""

OVERWRITES: Final = SOURCE.replace("self.grad = 1.0", "for value in order: value.grad = 0.0\n        self.grad = 1.0")
"""A backward overwrites the gradients of earlier ones."""

DOUBLES: Final = SOURCE.replace("self.grad = 1.0", "for value in order: value.grad *= 2\n        self.grad = 1.0")
"""A backward doubles the gradients of earlier ones before it adds to them."""

FORGETS: Final = SOURCE.replace(
    "self.grad = 1.0", "for value in order: value.grad = 0.0 if value.parents else value.grad\n        self.grad = 1.0"
)
"""A backward resets the gradients that results kept of earlier ones."""

KEEPS_SEED: Final = SOURCE.replace("self.grad = 1.0", "self.grad += 1.0")
"""A backward adds the seed to the gradient that the output kept of earlier ones."""

ARRAYS: Final = (
    SOURCE
    .replace("import math", "import numpy as np")
    .replace("math.", "np.")
    .replace("self.grad = 1.0", "self.grad = np.ones_like(self.data)")
)
"""The same engine takes arrays too, as it computes with NumPy's functions."""

SUM: Final = """
    def sum(self, axis=None, keepdims=False):
        out = Value(np.sum(self.data, axis=axis, keepdims=keepdims), (self,))
        def send():
            grad = out.grad if axis is None or keepdims else np.expand_dims(out.grad, axis)
            self.grad = self.grad + np.broadcast_to(grad, np.shape(self.data))
        out.send = send
        return out
"""
"""A sum over axes."""

DOUBLED_TANH: Final = ARRAYS.replace("(1 - out.data**2)", "(2 if np.ndim(out.data) else 1) * (1 - out.data**2)") + SUM
"""The gradient of the hyperbolic tangent is doubled for arrays."""
