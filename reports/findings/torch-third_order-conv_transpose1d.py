# A finding of refgrad on torch, version 2.13.0+cpu: third_order/conv_transpose1d is missing.
# conv_transpose1d: its second derivatives can be differentiated, and the third ones are right.
# Found: step 9, `read grad a`: the gradient of a is missing: step 8 raised RuntimeError: output_padding is not
# supported for non-transposed convolutions; got: 1

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[1.0, 1.0, 1.0]]), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array([[[1.0]]]), dtype=torch.float64, requires_grad=True)
c = torch.tensor(np.array([1.0]), dtype=torch.float64)
d = torch.nn.functional.conv_transpose1d(a, b, c, 2, 2, 1, c.shape[0] // b.shape[1], 1)
e = torch.multiply(d, d)
f = torch.autograd.grad(e, b, torch.tensor(np.array([[1.0, 1.0]]), dtype=torch.float64), create_graph=True)[0]
g = torch.autograd.grad(f, a, torch.tensor(np.array([[[1.0]]]), dtype=torch.float64), create_graph=True)[0]
g.backward(torch.tensor(np.array([[1.0, 1.0, 1.0]]), dtype=torch.float64), retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
