# A finding of refgrad on torch, version 2.13.0+cpu: exceptional/i1 is wrong.
# i1: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number and -0.0 are
# numbers like others.
# Found: step 4, `read grad x1`: the gradient of x1 is entry (0, 1): 0.355, but the truth is nan

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

x1 = torch.tensor(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64, requires_grad=True)
a1 = torch.special.i1(x1)
a1.backward(torch.tensor(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]), dtype=torch.float64), retain_graph=False)
print(x1.grad if x1.grad is None else as_numpy(x1.grad.detach().clone()))  # gradient of x1
print(as_numpy(a1.detach()))  # value of a1
print(as_numpy(x1.detach()))  # value of x1
