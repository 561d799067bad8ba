# A finding of refgrad on torch, version 2.13.0+cpu: operators/celu is inaccurate.
# celu: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is entry (1,): 0.34901807070081464, but the truth is
# 0.34901807093131994 (relative error 6.6e-10, 4.8e+05 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([1.0, -2.0]), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.celu(a, alpha=1.9)
b.backward(torch.tensor(np.array([1.0, 1.0]), dtype=torch.float64), retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
