# A finding of refgrad on torch, version 2.13.0+cpu: exceptional/multi_margin_loss is wrong.
# multi_margin_loss: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number
# and -0.0 are numbers like others.
# Found: step 5, `read value a1`: the value of a1 is 4.540909666666667, but the truth is nan

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def classes(target, x):
    return torch.tensor(target, dtype=torch.int64).reshape(x.shape[:1] * (x.ndim > 1) + x.shape[2:])

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

x1 = torch.tensor(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64, requires_grad=True)
a1 = torch.nn.functional.multi_margin_loss(x1, classes((1, 0), x1), 2, 2.317, reduction='mean')
a1.backward(None, retain_graph=False)
print(x1.grad if x1.grad is None else as_numpy(x1.grad.detach().clone()))  # gradient of x1
print(as_numpy(a1.detach()))  # value of a1
print(as_numpy(x1.detach()))  # value of x1
