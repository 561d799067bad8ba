# A finding of refgrad: operators/kron, wrong error.
# `kron(transpose(a), c)` can be computed at a = [[1.0, 1.0]], c = [[1.0], [1.0]]; torch 2.13.0+cpu raises
# RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across
# two contiguous subspaces). Use .reshape(...) instead.
# Violated (MUST): kron: value and gradient are right, for any shape, attribute and seed.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[1.0, 1.0]], dtype=torch.float64)
b = torch.permute(a, tuple(range(a.ndim))[::-1])
c = torch.tensor([[1.0], [1.0]], dtype=torch.float64, requires_grad=True)
d = torch.kron(b, c)
d.backward(torch.tensor([[1.0], [1.0], [1.0], [1.0]], dtype=torch.float64))
