# A finding of refgrad on torch, version 2.13.0+cpu: operators/celu is inaccurate.
# celu: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is 0.46336937315339527, but the truth is 0.46336936923117532
# (relative error 8.5e-09, 9.92e+06 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(-1.0), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.celu(a, alpha=1.3)
b.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
