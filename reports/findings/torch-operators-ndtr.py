# A finding of refgrad on torch, version 2.13.0+cpu: operators/ndtr is inaccurate.
# ndtr: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is 2.8665157186802404e-07, but the truth is 2.8665157187919391e-7
# (relative error 3.9e-11, 3.71e+03 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(-5.0), dtype=torch.float64, requires_grad=True)
b = torch.special.ndtr(a)
b.backward(None, retain_graph=False)
print(as_numpy(b.detach()))  # value of b
