# A finding of refgrad on torch, version 2.13.0+cpu: operators/matrix_exp is inaccurate.
# matrix_exp: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is entry (0, 0): -0.12455646693706512, but the truth is
# -0.12456013135685614 (relative error 2.9e-05, 4.16 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[0.30300000309944153]], dtype=np.float32), dtype=torch.float32, requires_grad=True)
b = torch.matrix_exp(a)
b.backward(torch.tensor(np.array([[-0.09200000017881393]], dtype=np.float32), dtype=torch.float32), retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()), getattr(a.grad, 'dtype', None))  # gradient of a
