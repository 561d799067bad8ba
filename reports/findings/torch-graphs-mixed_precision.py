# A finding of refgrad on torch, version 2.13.0+cpu: graphs/mixed_precision is unexpected-error.
# Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found: step 3, `c = meshgrid a b`: raised RuntimeError: meshgrid expects all tensors to have the same dtype

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([1.0], dtype=np.float32), dtype=torch.float32)
b = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
c = torch.stack(torch.meshgrid([a, b], indexing='xy'))
c.backward(torch.tensor(np.array([[[1.0]], [[1.0]]]), dtype=torch.float64), retain_graph=False)
