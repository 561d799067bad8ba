# A finding of refgrad on torch, version 2.13.0+cpu: operators/soft_margin_loss is wrong.
# soft_margin_loss: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `read grad a`: the gradient of a is nan, but the truth is 1.0000000000000000

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def signs(positive, x):
    return torch.where(positive, 1.0, -1.0).to(x.dtype)

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array(800.0), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array(False), dtype=torch.bool)
c = torch.nn.functional.soft_margin_loss(a, signs(b, a), reduction='mean')
c.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
