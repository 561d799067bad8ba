# A finding of refgrad: third_order/batch_norm, wrong higher derivative.
# The gradient of `d/da [d/db [multiply(batch_norm(a, b, b, eps=1.0), a)]]` with respect to `a` at a = [[[1.0, 1.0]]],
# b = [1.0] in entry [0, 0, 0] is 0; torch 2.13.0+cpu gives 1.
# Violated (SHOULD): batch_norm: its second derivatives can be differentiated, and the third ones are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[[1.0, 1.0]]], dtype=torch.float64, requires_grad=True)
b = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
c = torch.nn.functional.batch_norm(a, None, None, b, b, training=True, eps=1.0)
d = c * a
e = torch.autograd.grad(d, b, torch.tensor([[[1.0, 1.0]]], dtype=torch.float64), create_graph=True)[0]
f = torch.autograd.grad(e, a, torch.tensor([1.0], dtype=torch.float64), create_graph=True)[0]
f.backward(torch.tensor([[[1.0, 1.0]]], dtype=torch.float64))
got = float(a.grad[0, 0, 0])
assert abs(got) < 0.001, f"the gradient of a at [0, 0, 0] is {got}, but it should be 0.0"
