# A finding of refgrad on torch, version 2.13.0+cpu: third_order/binary_cross_entropy is inaccurate.
# binary_cross_entropy: its second derivatives can be differentiated, and the third ones are right.
# Found: step 6, `read grad a`: the gradient of a is -4.000000000031999, but the truth is -4.0000000000000000
# (relative error 8.0e-12, 1.03e+04 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array(0.5), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.binary_cross_entropy(a, a, reduction='mean')
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
d = torch.autograd.grad(b, a, None, create_graph=True)[0]
d.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
print(as_numpy(c.detach()))  # value of c
