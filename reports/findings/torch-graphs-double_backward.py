# A finding of refgrad on torch, version 2.13.0+cpu: graphs/double_backward is wrong.
# Gradients of random graphs' gradients are right.
# Found: step 8, `read grad d`: the gradient of d is nan, but the truth is 0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
b = torch.logcumsumexp(a, dim=0)
c = torch.nn.functional.mse_loss(*torch.broadcast_tensors(b, b), reduction='none')
d = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
e = torch.mul(c, d)
f = torch.autograd.grad(e, a, torch.tensor(np.array([1.0]), dtype=torch.float64), create_graph=True)[0]
f.backward(torch.tensor(np.array([1.0]), dtype=torch.float64), retain_graph=False)
print(d.grad if d.grad is None else as_numpy(d.grad.detach().clone()))  # gradient of d
