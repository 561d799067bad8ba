# A finding of refgrad on torch, version 2.13.0+cpu: operators/kron is unexpected-error.
# kron: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `d = kron b c`: raised RuntimeError: view size is not compatible with input tensor's size and stride
# (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([[1.0, 1.0]]), dtype=torch.float64)
b = torch.permute(a, None if None is not None else tuple(range(a.ndim))[::-1])
c = torch.tensor(np.array([[1.0], [1.0]]), dtype=torch.float64, requires_grad=True)
d = torch.kron(b, c)
d.backward(torch.tensor(np.array([[1.0], [1.0], [1.0], [1.0]]), dtype=torch.float64), retain_graph=False)
