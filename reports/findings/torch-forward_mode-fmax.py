# A finding of refgrad on torch, version 2.13.0+cpu: forward_mode/fmax is inaccurate.
# fmax: forward mode gives its directional derivatives, whichever operands move.
# Found: step 5, `read value d`: the value of d is entry (1,): 0.01399999999999979, but the truth is
# 0.014000000000000000 (relative error 1.5e-14, 67.5 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

def jvp(function, primals, tangents):
    with torch.no_grad():  # forward mode needs no recording
        return torch.func.jvp(function, tuple(primals), tuple(tangents))

a = torch.tensor(np.array(2.0), dtype=torch.float64, requires_grad=True)
b = torch.tensor(np.array([1.0, 1.0]), dtype=torch.float64, requires_grad=True)
c = torch.fmax(a, b)

def function_of_d(a, b):
    c = torch.fmax(a, b)
    return c

tangent_of_a = torch.tensor(np.array(0.014), dtype=torch.float64)
tangent_of_b = torch.tensor(np.array([1.0, -2.0]), dtype=torch.float64)
output, d = jvp(function_of_d, [a, b], [tangent_of_a, tangent_of_b])
print(as_numpy(d.detach()))  # value of d
