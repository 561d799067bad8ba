# A finding of refgrad on torch, version 2.13.0+cpu: infinities/copysign is wrong.
# copysign: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found: step 5, `read grad x1`: the gradient of x1 is entry (0, 1): nan, but the truth is -2.8

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

x1 = torch.tensor(np.array([[0.068, np.inf, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64, requires_grad=True)
x2 = torch.tensor(np.array([[4.022, -1.899, 2.299], [3.989, 1.84, -0.279]]), dtype=torch.float64, requires_grad=True)
a1 = torch.copysign(x1, x2)
a1.backward(torch.tensor(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]]), dtype=torch.float64), retain_graph=False)
print(x1.grad if x1.grad is None else as_numpy(x1.grad.detach().clone()))  # gradient of x1
print(x2.grad if x2.grad is None else as_numpy(x2.grad.detach().clone()))  # gradient of x2
print(as_numpy(a1.detach()))  # value of a1
print(as_numpy(x1.detach()))  # value of x1
print(as_numpy(x2.detach()))  # value of x2
