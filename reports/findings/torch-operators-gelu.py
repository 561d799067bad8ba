# A finding of refgrad on torch, version 2.13.0+cpu: operators/gelu is inaccurate.
# gelu: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is entry (1,): -0.004050225019454956, but the truth is
# -0.0040496940948902836 (relative error 1.3e-04, 48 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([1.0, -3.0], dtype=np.float32), dtype=torch.float32, requires_grad=True)
b = torch.nn.functional.gelu(a)
b.backward(torch.tensor(np.array([1.0, 1.0], dtype=np.float32), dtype=torch.float32), retain_graph=False)
print(as_numpy(b.detach()), b.dtype)  # value of b
