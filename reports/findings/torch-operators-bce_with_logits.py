# A finding of refgrad on torch, version 2.13.0+cpu: operators/bce_with_logits is inaccurate.
# bce_with_logits: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `read value c`: the value of c is 0.006715348489118256, but the truth is 0.0067153484891180686
# (relative error 2.8e-14, 30.2 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array(-5.0), dtype=torch.float64)
b = torch.tensor(np.array(0.0), dtype=torch.float64, requires_grad=True)
c = torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(a, b), reduction='none')
c.backward(None, retain_graph=False)
print(as_numpy(c.detach()))  # value of c
