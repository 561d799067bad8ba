# A finding of refgrad: graphs/double_backward, wrong higher derivative.
# The gradient of `d/da [multiply(squared_error(logcumsumexp(a), logcumsumexp(a)), d)]` with respect to `d` at a =
# [1.0], d = 1.0 is 0; torch 2.13.0+cpu gives nan.
# Violated (MUST): Gradients of random graphs' gradients are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
b = torch.logcumsumexp(a, dim=0)
c = torch.nn.functional.mse_loss(*torch.broadcast_tensors(b, b), reduction='none')
d = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
e = torch.mul(c, d)
f = torch.autograd.grad(e, a, torch.tensor([1.0], dtype=torch.float64), create_graph=True)[0]
f.backward(torch.tensor([1.0], dtype=torch.float64))
got = float(d.grad)
assert abs(got) < 1e-12, f"the gradient of d is {got}, but it should be 0.0"
