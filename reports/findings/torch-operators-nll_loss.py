# A finding of refgrad: operators/nll_loss, wrong error.
# `nll_loss(transpose(a), target=(((0, 0), (0, 0)), ((0, 0), (0, 0))))` has a gradient; torch 2.13.0+cpu raises
# RuntimeError: grad_input must be contiguous.
# Violated (MUST): nll_loss: value and gradient are right, for any shape, attribute and seed.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[[[1.0, 1.0]], [[1.0, 1.0]]], [[[1.0, 1.0]], [[1.0, 1.0]]]], dtype=torch.float64, requires_grad=True)
b = torch.permute(a, tuple(range(a.ndim))[::-1])
c = torch.nn.functional.nll_loss(b, torch.tensor((((0, 0), (0, 0)), ((0, 0), (0, 0))), dtype=torch.int64).reshape(b.shape[:1] * (b.ndim > 1) + b.shape[2:]), reduction='mean')
c.backward()
