# A finding of refgrad on torch, version 2.13.0+cpu: operators/cosine_similarity is wrong.
# cosine_similarity: value and gradient are right, for any shape, attribute and seed.
# Found: step 5, `read grad b`: the gradient of b is entry (0, 0): 0.5, but the truth is 1.0000000000000000 (relative
# error 5.0e-01, 9.01e+14 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[2.0]]), dtype=torch.float64)
b = torch.tensor(np.array([[0.5]]), dtype=torch.float64, requires_grad=True)
c = torch.nn.functional.cosine_similarity(a, b, dim=1, eps=1.0)
c.backward(torch.tensor(np.array([1.0]), dtype=torch.float64), retain_graph=False)
print(b.grad if b.grad is None else as_numpy(b.grad.detach().clone()))  # gradient of b
