# A finding of refgrad on torch, version 2.13.0+cpu: half_precision/prod is wrong.
# prod: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found: step 4, `read grad a`: the gradient of a is entry (9,): 3.159046173095703e-06, but the truth is
# 4.5299358390898399e-6 (relative error 3.0e-01, 6.34 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis

def product(x, axis, keepdims):  # torch.prod takes one axis at a time
    for a in sorted((a % x.ndim for a in all_axes(x, axis)), reverse=True):
        x = torch.prod(x, dim=a, keepdim=keepdims)
    return x

a = torch.tensor(np.array([-0.318115234375, -0.96484375, 0.045013427734375, -0.3798828125, 1.134765625, -0.787109375, -0.093994140625, 0.333984375, 1.6328125, 0.0189971923828125, -0.873046875, 1.0234375, 0.47412109375, -0.998046875, 1.638671875, 1.931640625, 1.2412109375, 1.609375, -0.759765625, 0.919921875, 1.595703125, 0.73583984375, -0.11102294921875, -1.59765625, -0.262939453125, 0.444091796875, 1.65234375, 1.8671875, -0.09197998046875, 1.4619140625], dtype=np.float16), dtype=torch.float16, requires_grad=True)
b = product(a, None, False)
b.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()), getattr(a.grad, 'dtype', None))  # gradient of a
