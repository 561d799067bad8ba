# A finding of refgrad on torch, version 2.13.0+cpu: third_order/gelu_tanh is wrong.
# gelu_tanh: its second derivatives can be differentiated, and the third ones are right.
# Found: step 6, `read grad a`: the gradient of a is nan, but the truth is 0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(800.0), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.gelu(a, approximate='tanh')
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
d = torch.autograd.grad(c, a, None, create_graph=True)[0]
d.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
