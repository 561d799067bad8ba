# A finding of refgrad on torch, version 2.13.0+cpu: operators/hard_sigmoid is inaccurate.
# hard_sigmoid: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read grad a`: the gradient of a is 0.1666666716337204, but the truth is 0.16666666666666667
# (relative error 3.0e-08, 2.68e+08 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.hardsigmoid(a)
b.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
