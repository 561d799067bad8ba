# A finding of refgrad on torch, version 2.13.0+cpu: operators/bce_with_logits is inaccurate.
# bce_with_logits: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `read value c`: the value of c is 24.800000000000068, but the truth is 24.800000000000000 (relative
# error 2.7e-15, 4.39 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array(-800.0), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array(0.031), dtype=torch.float64)
c = torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(a, b), reduction='none')
c.backward(None, retain_graph=False)
print(as_numpy(c.detach()))  # value of c
