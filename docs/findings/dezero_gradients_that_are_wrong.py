"""DeZero 0.0.13: gradients and values that are wrong, with what is due. Nothing of refgrad is imported."""

import numpy as np

np.int = int  # noqa: NPY001 (the last release of DeZero needs it)

import dezero  # noqa: E402
import dezero.functions as F  # noqa: E402, N812

x = dezero.Variable(np.array([1.0, 1.0]))
F.max(x).backward()
print("max, gradient at [1, 1]:", x.grad.data.tolist(), "due entries that sum to 1")
print("expand_dims([1, 2], -1), shape:", F.expand_dims(dezero.Variable(np.array([1.0, 2.0])), -1).shape, "due (2, 1)")
x = dezero.Variable(np.array([[1.0, 2.0], [3.0, 4.0]]))
y = dezero.Variable(np.array([5.0, 6.0]))
F.matmul(x, y).backward()
print("matrix times vector, gradient of the matrix:", x.grad.data.tolist(), "due [[5.0, 6.0], [5.0, 6.0]]")
x = dezero.Variable(np.array(-1.0))
try:
    F.leaky_relu(x).backward()
except TypeError as error:
    print("leaky_relu of a number:", error)
x = dezero.Variable(np.array([1.0], dtype=np.float32))
(x * dezero.Variable(np.array([2.0]))).backward()
print("gradient of a leaf of float32, dtype:", x.grad.data.dtype, "due float32")
