# A finding of refgrad: contracts/gradients_of_leaves_are_apart, wrong first derivative.
# At the end of the program, the gradient of `y`, added up over 2 backwards, in entry [0] is 1; torch 2.13.0+cpu gives
# 4.
# Violated (MUST): The gradients of two leaves share no memory: what is added to one is not added to the other.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

x = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
y = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
a = torch.stack([x, y], dim=0)
b = torch.sum(a, dim=(0,))
b.backward(torch.tensor([1.0, -2.0], dtype=torch.float64))
c = torch.multiply(x, x)
c.backward(torch.tensor([1.0, 1.0], dtype=torch.float64))
got = float(y.grad[0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of y at [0] is {got}, but it should be 1.0"
