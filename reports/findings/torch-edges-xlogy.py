# A finding of refgrad on torch, version 2.13.0+cpu: edges/xlogy is missing.
# xlogy: at its edges the gradient is an element of the subdifferential.
# Found: step 5, `read grad b`: the gradient of b is nan, but the truth is 0: 0 * log(y) is 0 for every y > 0, so its
# slope in y is 0, though 0 / 0 is not a number; in x there is no slope.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(0.0), dtype=torch.float64)
b = torch.tensor(np.array(0.0), dtype=torch.float64, requires_grad=True)
c = torch.xlogy(a, b)
c.backward(None, retain_graph=False)
print(b.grad if b.grad is None else as_numpy(b.grad.detach().clone()))  # gradient of b
