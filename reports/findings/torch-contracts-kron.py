# A finding of refgrad on torch, version 2.13.0+cpu: contracts/kron is unexpected-error.
# kron: its backward leaves operands and seeds as they are, gives the same when it is walked again, and no two
# gradients share memory.
# Found: step 4, `d = kron a c`: raised RuntimeError: view size is not compatible with input tensor's size and stride
# (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.; seeds are not watched:
# contracts/seeds_stay_as_they_are fails already

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([[1.0], [1.0]]), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]]), dtype=torch.float64)
c = torch.permute(b, None if None is not None else tuple(range(b.ndim))[::-1])
d = torch.kron(a, c)
d.backward(torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), dtype=torch.float64), retain_graph=False)
