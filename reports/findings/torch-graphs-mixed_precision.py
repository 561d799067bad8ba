# A finding of refgrad on torch, version 2.13.0+cpu: graphs/mixed_precision is inaccurate.
# Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found: step 5, `read grad a`: the gradient of a is 0.41868710070211035, but the truth is 0.41868709032331364
# (relative error 2.5e-08, 4.3e+07 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array(1.847000002861023, dtype=np.float32), dtype=torch.float32)
c = torch.atan2(a, b)
c.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()), getattr(a.grad, 'dtype', None))  # gradient of a
