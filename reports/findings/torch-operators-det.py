# A finding of refgrad on torch, version 2.13.0+cpu: operators/det is wrong.
# det: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is entry (0, 0): 0.0, but the truth is 1.0000000000000000 (relative
# error 1.0e+00, 2.35e+14 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]]), dtype=torch.float64, requires_grad=True)
b = torch.linalg.det(a)
b.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
