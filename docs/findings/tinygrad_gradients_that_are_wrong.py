"""tinygrad 0.14.0: gradients that are wrong, with what is due. Nothing of refgrad is imported."""

import numpy as np
from tinygrad import Tensor


def gradient(function, numbers):
    """Return the gradient of the sum of what a function gives."""
    x = Tensor(np.array(numbers))
    function(x).sum().backward()
    return np.round(x.grad.numpy(), 6).tolist()


x, y, seed = Tensor(np.array([1.0, 2.0])), Tensor(np.array([1.0, 2.0])), Tensor(np.array([1.0, 1.0]))
(x + y).backward(seed)
(x * 3).backward(Tensor(np.array([1.0, 1.0])))
print("x.grad after (x + y).backward(), (3 x).backward():", x.grad.tolist(), "due [4.0, 4.0]")
print("y.grad, which has nothing to do with the second:", y.grad.tolist(), "due [1.0, 1.0]")
print("the seed of the first:", seed.tolist(), "due [1.0, 1.0]")
print("asin, slope at 0:", gradient(Tensor.asin, [0.0]), "due [1.0]")
print("acos, slope at 0:", gradient(Tensor.acos, [0.0]), "due [-1.0]")
print("atan, slope at 0:", gradient(Tensor.atan, [0.0]), "due [1.0]")
print("asin, slope at 0.5:", gradient(Tensor.asin, [0.5]), "due [1.154701]")
print("elu, slope at 800:", gradient(Tensor.elu, [800.0]), "due [1.0]")
print("selu, slope at 800:", gradient(Tensor.selu, [800.0]), "due [1.050701]")
x = Tensor(np.ones((2, 2, 2)))
Tensor.einsum("iij->j", x).backward(Tensor(np.array([1.0, 2.0])))
print("einsum iij->j, gradient at [0, 0]:", x.grad[0, 0].tolist(), "due [1.0, 2.0]")
