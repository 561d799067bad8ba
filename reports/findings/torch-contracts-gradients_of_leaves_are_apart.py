# A finding of refgrad on torch, version 2.13.0+cpu: contracts/gradients_of_leaves_are_apart is wrong.
# The gradients of two leaves share no memory: what is added to one is not added to the other.
# Found: step 9, `read grad y`: the gradient of y is entry (0,): 4.0, but the truth is 1.0000000000000000 (relative
# error 3.0e+00, 1.35e+16 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis

x = torch.tensor(np.array([1.5, -0.5]), dtype=torch.float64, requires_grad=True)
y = torch.tensor(np.array([1.0, 2.0]), dtype=torch.float64, requires_grad=True)
a = torch.stack([x, y], dim=0)
b = torch.sum(a, dim=all_axes(a, 0), keepdim=False)
b.backward(torch.tensor(np.array([1.0, -2.0]), dtype=torch.float64), retain_graph=False)
c = torch.multiply(x, x)
c.backward(torch.tensor(np.array([1.0, 1.0]), dtype=torch.float64), retain_graph=False)
print(x.grad if x.grad is None else as_numpy(x.grad.detach().clone()))  # gradient of x
print(y.grad if y.grad is None else as_numpy(y.grad.detach().clone()))  # gradient of y
