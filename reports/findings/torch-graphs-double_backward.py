# A finding of refgrad on torch, version 2.13.0+cpu: graphs/double_backward is unexpected-error.
# Gradients of random graphs' gradients are right.
# Found: step 6, `backward e seed float64[1] {0x1p+0}`: raised RuntimeError: element 0 of tensors does not require
# grad and does not have a grad_fn

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def set_at(x, index, source):
    x = x.clone()
    x[tuple(torch.tensor(i) if isinstance(i, tuple) else i for i in index)] = source
    return x

a = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array(1.0), dtype=torch.float64)
c = set_at(a, (slice(None, None, None),), b)
d = torch.special.log_ndtr(c)
e = torch.autograd.grad(d, a, torch.tensor(np.array([1.0]), dtype=torch.float64), create_graph=True)[0]
e.backward(torch.tensor(np.array([1.0]), dtype=torch.float64), retain_graph=False)
