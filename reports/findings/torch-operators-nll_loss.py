# A finding of refgrad on torch, version 2.13.0+cpu: operators/nll_loss is unexpected-error.
# nll_loss: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `backward c`: raised RuntimeError: grad_input must be contiguous

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def classes(target, x):
    return torch.tensor(target, dtype=torch.int64).reshape(x.shape[:1] * (x.ndim > 1) + x.shape[2:])

def reduction(name):
    return {"max": "amax", "min": "amin"}.get(name, name)

a = torch.tensor(np.array([[[[1.0, 1.0]], [[1.0, 1.0]]], [[[1.0, 1.0]], [[1.0, 1.0]]]]), dtype=torch.float64, requires_grad=True)
b = torch.permute(a, None if None is not None else tuple(range(a.ndim))[::-1])
c = torch.nn.functional.nll_loss(b, classes((((0, 0), (0, 0)), ((0, 0), (0, 0))), b), reduction='mean')
c.backward(None, retain_graph=False)
