# A finding of refgrad: second_order/mish, wrong higher derivative.
# The gradient of `d/da [mish(a)]` with respect to `a` at a = 800.0 is 0; torch 2.13.0+cpu gives nan.
# Violated (MUST): mish: its gradient can be differentiated, and the second derivatives are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor(800.0, dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.mish(a)
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
c.backward()
got = float(a.grad)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
