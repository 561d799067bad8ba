# A finding of refgrad on torch, version 2.13.0+cpu: infinities/bce_with_logits is wrong.
# bce_with_logits: where an operand is infinite, value and gradient are their limits, if formulas reach them.
# Found: step 7, `read value a1`: the value of a1 is entry (0, 1): nan, but the truth is inf

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

x1 = torch.tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64, requires_grad=True)
x2 = torch.tensor(np.array([[0.903, 0.31, 0.73], [0.899, 0.684, 0.472]]), dtype=torch.float64, requires_grad=True)
a1 = torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(x1, x2), reduction='none')
a1.backward(torch.tensor(np.array([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]]), dtype=torch.float64), retain_graph=False)
print(x1.grad if x1.grad is None else as_numpy(x1.grad.detach().clone()))  # gradient of x1
print(x2.grad if x2.grad is None else as_numpy(x2.grad.detach().clone()))  # gradient of x2
print(as_numpy(a1.detach()))  # value of a1
print(as_numpy(x1.detach()))  # value of x1
print(as_numpy(x2.detach()))  # value of x2
