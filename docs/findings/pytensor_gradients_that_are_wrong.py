"""PyTensor 3.0.7: gradients that are wrong, or cannot be had, with what is due. Nothing of refgrad is imported."""

import numpy as np
import pytensor
import pytensor.tensor as pt


def shared(numbers):
    """Return a tensor of a shape that is known."""
    return pytensor.shared(np.array(numbers, dtype=float), shape=np.shape(numbers))


x = shared(800.0)
print("logaddexp(x, 1), slope at 800:", pytensor.grad(pt.logaddexp(x, shared(1.0)), x).eval(), "due 1.0")
x, y = shared([1.0, 1.0]), shared(2.0)
try:
    pytensor.grad(pt.special.xlogy(x, y).sum(), y)
except ValueError as error:
    print("xlogy of a vector and a number, gradient:", error)
y = shared([2.0])
print("xlogy, gradient of a stretched operand:", pytensor.grad(pt.special.xlogy(x, y).sum(), y).eval(), "due [1.]")
