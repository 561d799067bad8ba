# A finding of refgrad on torch, version 2.13.0+cpu: contracts/meshgrid is wrong.
# meshgrid: its backward leaves operands and seeds as they are, gives the same when it is walked again, and no two
# gradients share memory.
# Found: step 7, `read grad a`: the gradient of a is entry (0,): 3.0, but the truth is 2.0000000000000000 (relative
# error 5.0e-01, 4.5e+15 times what rounding explains); seeds are not watched: contracts/seeds_stay_as_they_are fails
# already

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis

a = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
c = torch.stack(torch.meshgrid([a, b], indexing='xy'))
d = torch.sum(c, dim=all_axes(c, None), keepdim=False)
d.backward(None, retain_graph=True)
d.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
