# A finding of refgrad on torch, version 2.13.0+cpu: half_precision/erf is wrong.
# erf: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found: step 4, `read value b`: the value of b is 0.0, but the truth is 1.1290084291142189e-20 (relative error
# 1.0e+00, 80 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(1.0005576689441423e-20, dtype=np.float32), dtype=torch.bfloat16, requires_grad=True)
b = torch.erf(a)
b.backward(None, retain_graph=False)
print(as_numpy(b.detach()), b.dtype)  # value of b
