# A finding of refgrad: second_order/logaddexp2, wrong higher derivative.
# The gradient of `d/db [logaddexp2(a, b)]` with respect to `b` at a = 1200.0, b = 1.0 is 0; torch 2.13.0+cpu gives
# nan.
# Violated (MUST): logaddexp2: its gradient can be differentiated, and the second derivatives are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor(1200.0, dtype=torch.float64)
b = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
c = torch.logaddexp2(a, b)
d = torch.autograd.grad(c, b, None, create_graph=True)[0]
d.backward()
got = float(b.grad)
assert abs(got) < 1e-12, f"the gradient of b is {got}, but it should be 0.0"
