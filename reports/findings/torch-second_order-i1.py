# A finding of refgrad: second_order/i1, wrong higher derivative.
# The gradient of `d/da [i1(a)]` with respect to `a` at a = -1e-160 is -3.75e-161; torch 2.13.0+cpu gives 0.
# Violated (MUST): i1: its gradient can be differentiated, and the second derivatives are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(-1e-160, dtype=torch.float64, requires_grad=True)
b = torch.special.i1(a)
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
c.backward()
got = float(a.grad)
assert math.isclose(got, -3.75e-161, rel_tol=0.001), f"the gradient of a is {got}, but it should be -3.75e-161"
