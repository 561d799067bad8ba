# A finding of refgrad on torch, version 2.13.0+cpu: operators/matrix_exp is inaccurate.
# matrix_exp: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is entry (1, 1): 1.0345846066906221, but the truth is
# 1.0345846067281179 (relative error 3.6e-11, 4.14e+03 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

a = torch.tensor(np.array([[-0.0, 0.0], [0.0, 0.034]]), dtype=torch.float64, requires_grad=True)
b = torch.linalg.matrix_exp(a)
b.backward(torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]]), dtype=torch.float64), retain_graph=False)
print(as_numpy(b.detach()))  # value of b
