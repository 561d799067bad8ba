# A finding of refgrad on torch, version 2.13.0+cpu: half_precision/logaddexp is wrong.
# logaddexp: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found: step 5, `read grad b`: the gradient of b is 0.0, but the truth is 1.4174348445529376e-5 (relative error
# 1.0e+00, 53.2 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(5.1640625, dtype=np.float16), dtype=torch.float16)
b = torch.tensor(np.array(-6.0, dtype=np.float16), dtype=torch.float16, requires_grad=True)
c = torch.logaddexp(a, b)
c.backward(None, retain_graph=False)
print(b.grad if b.grad is None else as_numpy(b.grad.detach().clone()), getattr(b.grad, 'dtype', None))  # gradient of b
