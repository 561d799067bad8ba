# A finding of refgrad on torch, version 2.13.0+cpu: second_order/i1 is wrong.
# i1: its gradient can be differentiated, and the second derivatives are right.
# Found: step 5, `read grad a`: the gradient of a is 0.0, but the truth is -3.7500000000000000e-161 (relative error
# 1.0e+00, 3.38e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(-1e-160), dtype=torch.float64, requires_grad=True)
b = torch.special.i1(a)
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
c.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
