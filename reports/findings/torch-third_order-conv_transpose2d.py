# A finding of refgrad: third_order/conv_transpose2d, missing.
# There is a gradient of `d/db [d/da [multiply(d, d)]]` with respect to `a`; torch 2.13.0+cpu gives none, but raises
# RuntimeError: output_padding is not supported for non-transposed convolutions; got: 1 1.
# Violated (SHOULD): conv_transpose2d: its second derivatives can be differentiated, and the third ones are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64, requires_grad=True)
b = torch.tensor([[[[1.0]]], [[[1.0]]]], dtype=torch.float64, requires_grad=True)
c = torch.tensor([1.0], dtype=torch.float64)
d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
e = torch.mul(d, d)
f = torch.autograd.grad(e, a, torch.tensor([[[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64), create_graph=True)[0]
g = torch.autograd.grad(f, b, torch.tensor([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64), create_graph=True)[0]
g.backward(torch.tensor([[[[1.0]]], [[[1.0]]]], dtype=torch.float64))
