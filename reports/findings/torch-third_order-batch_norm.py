# A finding of refgrad on torch, version 2.13.0+cpu: third_order/batch_norm is wrong.
# batch_norm: its second derivatives can be differentiated, and the third ones are right.
# Found: step 8, `read grad a`: the gradient of a is entry (0, 0, 0): 1.0, but the truth is 0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[[1.0, 1.0]]]), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
c = torch.nn.functional.batch_norm(a, None, None, b, b, training=True, eps=1.0)
d = c * a
e = torch.autograd.grad(d, b, torch.tensor(np.array([[[1.0, 1.0]]]), dtype=torch.float64), create_graph=True)[0]
f = torch.autograd.grad(e, a, torch.tensor(np.array([1.0]), dtype=torch.float64), create_graph=True)[0]
f.backward(torch.tensor(np.array([[[1.0, 1.0]]]), dtype=torch.float64), retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
