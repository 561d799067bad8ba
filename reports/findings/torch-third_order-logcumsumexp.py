# A finding of refgrad: third_order/logcumsumexp, wrong higher derivative.
# The gradient of `d/da [d/da [multiply(logcumsumexp(a), logcumsumexp(a))]]` with respect to `a` at a = [1.0] in entry
# [0] is 0; torch 2.13.0+cpu gives nan.
# Violated (SHOULD): logcumsumexp: its second derivatives can be differentiated, and the third ones are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
b = torch.logcumsumexp(a, dim=0)
c = b * b
d = torch.autograd.grad(c, a, torch.tensor([1.0], dtype=torch.float64), create_graph=True)[0]
e = torch.autograd.grad(d, a, torch.tensor([1.0], dtype=torch.float64), create_graph=True)[0]
e.backward(torch.tensor([1.0], dtype=torch.float64))
got = float(a.grad[0])
assert abs(got) < 1e-12, f"the gradient of a at [0] is {got}, but it should be 0.0"
