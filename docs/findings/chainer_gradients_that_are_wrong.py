"""Chainer 7.8.1: gradients that are wrong, or missing, with what is due. Nothing of refgrad is imported."""

import chainer
import chainer.functions as F  # noqa: N812
import numpy as np

x = chainer.Variable(np.array([1.0, 1.0]))
F.max(x).backward()
print("max, gradient at [1, 1]:", x.grad.tolist(), "due entries that sum to 1")
for function in (F.arctan2, F.fmod):
    z = function(chainer.Variable(np.array([5.0])), chainer.Variable(np.array(3.0)))
    z.grad = np.array([1.0])
    try:
        z.backward()
    except ValueError as error:
        print(f"{z.creator.label} of a vector and a number, backward:", str(error).splitlines()[-1])
x = chainer.Variable(np.array(1.0))
(slope,) = chainer.grad(
    [F.maximum(x, chainer.Variable(np.array(2.0), requires_grad=False)) * x], [x], enable_double_backprop=True
)
try:
    slope.backward()
except AttributeError as error:
    print("x max(x, constant), second derivative:", error)
x = chainer.Variable(np.array([[1.0, 0.0], [0.0, 0.0]]))
try:
    F.det(x).backward()
except ValueError as error:
    print("det, gradient at diag(1, 0), due [[0, 0], [0, 1]]:", error)
x = chainer.Variable(np.array(0.0))
(slope,) = chainer.grad([x**1], [x], enable_double_backprop=True)
slope.backward()
print("x ** 1, second derivative at 0:", x.grad, "due 0.0")
