# A finding of refgrad on torch, version 2.13.0+cpu: second_order/log_sigmoid is inaccurate.
# log_sigmoid: its gradient can be differentiated, and the second derivatives are right.
# Found: step 5, `read grad a`: the gradient of a is -0.002466509291359931, but the truth is -0.0024665092913600478
# (relative error 4.7e-14, 13.6 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array(6.0), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.logsigmoid(a)
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
c.backward(None, retain_graph=False)
print(a.grad if a.grad is None else as_numpy(a.grad.detach().clone()))  # gradient of a
