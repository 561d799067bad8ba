# A finding of refgrad on torch, version 2.13.0+cpu: second_order/logaddexp2 is wrong.
# logaddexp2: its gradient can be differentiated, and the second derivatives are right.
# Found: step 6, `read grad b`: the gradient of b is nan, but the truth is 8.0512008312427437e-362

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(1200.0), dtype=torch.float64)
b = torch.tensor(np.array(1.0), dtype=torch.float64, requires_grad=True)
c = torch.logaddexp2(a, b)
d = torch.autograd.grad(c, b, None, create_graph=True)[0]
d.backward(None, retain_graph=False)
print(b.grad if b.grad is None else as_numpy(b.grad.detach().clone()))  # gradient of b
