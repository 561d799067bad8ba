# A finding of refgrad on torch, version 2.13.0+cpu: operators/polygamma is inaccurate.
# polygamma: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is 1.6449340676383375, but the truth is 1.6449340668482264 (relative
# error 4.8e-10, 1.18e+06 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
b = torch.polygamma(1, a)
b.backward(None, retain_graph=False)
print(as_numpy(b.detach()))  # value of b
