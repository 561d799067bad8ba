# A finding of refgrad: operators/det, wrong first derivative.
# The gradient of `det(a)` with respect to `a` in entry [0, 0] is 1; torch 2.13.0+cpu gives 0.
# Violated (MUST): det: value and gradient are right, for any shape, attribute and seed.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor([[1.0, 1.0], [1.0, 1.0]], dtype=torch.float64, requires_grad=True)
b = torch.linalg.det(a)
b.backward()
got = float(a.grad[0, 0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of a at [0, 0] is {got}, but it should be 1.0"
