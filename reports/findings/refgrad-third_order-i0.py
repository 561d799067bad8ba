# A finding of refgrad on refgrad, version 0.1.0: third_order/i0 is inaccurate.
# i0: its second derivatives can be differentiated, and the third ones are right.
# Found: step 6, `read grad a`: the gradient of a is entry (1, 1): -0.03755210612467419, but the truth is
# -0.037552106124675103 (relative error 2.4e-14, 12.5 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import refgrad.engine as torch

a = torch.tensor(np.array([[1.0, 1.0], [1.0, -0.1]]), requires_grad=True)
b = torch.i0(a)
c = torch.grad(b, a, torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]])), create_graph=True)[0]
d = torch.grad(c, a, torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]])), create_graph=True)[0]
d.backward(torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]])), retain_graph=False)
print(a.grad if a.grad is None else a.grad.detach().numpy())  # gradient of a
