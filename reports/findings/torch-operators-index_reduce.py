# A finding of refgrad on torch, version 2.13.0+cpu: operators/index_reduce is wrong.
# index_reduce: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is entry (0,): 0.5, but the truth is 1.0000000000000000 (relative
# error 5.0e-01, 2.25e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def integers(indices):
    return torch.tensor(indices, dtype=torch.int64)

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
b = torch.index_reduce(a, 0, integers((0,)), a, reduction('min'), include_self=False)
b.backward(torch.tensor(np.array([1.0]), dtype=torch.float64), retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
