# A finding of refgrad on torch, version 2.13.0+cpu: operators/matrix_exp is unexpected-error.
# matrix_exp: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `c = matrix_exp b`: raised RuntimeError: view size is not compatible with input tensor's size and
# stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]]), dtype=torch.float64, requires_grad=True)
b = torch.permute(a, None if None is not None else tuple(range(a.ndim))[::-1])
c = torch.matrix_exp(b)
b.backward(torch.tensor(np.array([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]]), dtype=torch.float64), retain_graph=False)
print(as_numpy(c.detach()))  # value of c
