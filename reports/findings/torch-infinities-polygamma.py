# A finding of refgrad on torch, version 2.13.0+cpu: infinities/polygamma is wrong.
# polygamma: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found: step 4, `read grad x1`: the gradient of x1 is entry (0, 1): nan, but the truth is -0.0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

x1 = torch.tensor(np.array([[1.68, np.inf, 2.417], [1.119, 1.587, 1.875]]), dtype=torch.float64, requires_grad=True)
a1 = torch.special.polygamma(2, x1)
a1.backward(torch.tensor(np.array([[0.71, -1.497, 2.459], [2.897, 1.862, 2.413]]), dtype=torch.float64), retain_graph=False)
print(x1.grad if x1.grad is None else as_numpy(x1.grad.detach().clone()))  # gradient of x1
print(as_numpy(a1.detach()))  # value of a1
print(as_numpy(x1.detach()))  # value of x1
