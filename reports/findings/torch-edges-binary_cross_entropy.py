# A finding of refgrad on torch, version 2.13.0+cpu: edges/binary_cross_entropy is wrong.
# binary_cross_entropy: at its edges the gradient is an element of the subdifferential.
# Found: step 5, `read grad a`: the gradient of a is 0.0, but the truth is 1.0000000000000000 (relative error 1.0e+00,
# 3e+15 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array(0.0), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array(0.0), dtype=torch.float64)
c = torch.nn.functional.binary_cross_entropy(a, b, reduction='mean')
c.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
