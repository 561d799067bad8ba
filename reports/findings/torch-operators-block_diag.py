# A finding of refgrad on torch, version 2.13.0+cpu: operators/block_diag is wrong.
# block_diag: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `read grad b`: the gradient of b is 1.0, but the truth is 2.0000000000000000 (relative error 5.0e-01,
# 2.25e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.zeros((0,)), dtype=torch.float64)
b = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
c = torch.block_diag(*[a, b])
c.backward(torch.tensor(np.array([[1.0], [2.0]]), dtype=torch.float64), retain_graph=False)
print(b.grad if b.grad is None else as_numpy(b.grad.detach().clone()))  # gradient of b
