# A finding of refgrad on torch, version 2.13.0+cpu: third_order/lgamma is inaccurate.
# lgamma: its second derivatives can be differentiated, and the third ones are right.
# Found: step 6, `read grad a`: the gradient of a is 1.6449340676383375, but the truth is 1.6449340668482264 (relative
# error 4.8e-10, 7.97e+04 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
b = torch.special.gammaln(a)
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
d = torch.autograd.grad(b, a, None, create_graph=True)[0]
d.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
print(as_numpy(c.detach()))  # value of c
