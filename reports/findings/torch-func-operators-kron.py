# A finding of refgrad: operators/kron, wrong error.
# `kron(transpose(a), c)` can be computed at a = [[1.0, 1.0]], c = [[1.0], [1.0]]; torch-func 2.13.0+cpu raises
# RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across
# two contiguous subspaces). Use .reshape(...) instead.
# Violated (MUST): kron: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[1.0, 1.0]], dtype=torch.float64)
c = torch.tensor([[1.0], [1.0]], dtype=torch.float64)


def program_d(c):
    b = torch.permute(a, tuple(range(a.ndim))[::-1])
    return torch.kron(b, c)


output_d, pullback_of_d = torch.func.vjp(program_d, c)
[gradient_of_c] = pullback_of_d(torch.tensor([[1.0], [1.0], [1.0], [1.0]], dtype=torch.float64))
