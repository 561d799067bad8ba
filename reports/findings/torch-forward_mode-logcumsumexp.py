# A finding of refgrad on torch, version 2.13.0+cpu: forward_mode/logcumsumexp is wrong.
# logcumsumexp: forward mode gives its directional derivatives, whichever operands move.
# Found: step 4, `read value c`: the value of c is entry (0,): 0.0, but the truth is 1.0000000000000000 (relative
# error 1.0e+00, 9.64e+14 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def jvp(function, primals, tangents):
    with torch.no_grad():  # forward mode needs no recording
        return torch.func.jvp(function, tuple(primals), tuple(tangents))

a = torch.tensor(np.array([1.0, 800.0]), dtype=torch.float64, requires_grad=True)
b = torch.logcumsumexp(a, dim=0)

def function_of_c(a):
    b = torch.logcumsumexp(a, dim=0)
    return b

tangent_of_a = torch.tensor(np.array([1.0, 1.0]), dtype=torch.float64)
output, c = jvp(function_of_c, [a], [tangent_of_a])
print(as_numpy(c.detach()))  # value of c
