# A finding of refgrad on torch, version 2.13.0+cpu: edges/hypot is missing.
# hypot: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is in [-2, 2]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(0.0), dtype=torch.float64, requires_grad=True)
b = torch.hypot(a, a)
b.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
