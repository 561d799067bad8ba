# A finding of refgrad on torch, version 2.13.0+cpu: operators/ndtr is inaccurate.
# ndtr: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is 3.262128423431321e-05, but the truth is 3.2621284234289835e-5
# (relative error 7.2e-13, 95.7 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(-3.993), dtype=torch.float64, requires_grad=True)
b = torch.special.ndtr(a)
b.backward(None, retain_graph=False)
print(as_numpy(b.detach()))  # value of b
