# A finding of refgrad: operators/matrix_exp, wrong error.
# `matrix_exp(transpose(a))` can be computed; torch 2.13.0+cpu raises RuntimeError: view size is not compatible with
# input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...)
# instead.
# Violated (MUST): matrix_exp: value and gradient are right, for any shape, attribute and seed.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]], dtype=torch.float64, requires_grad=True)
b = torch.permute(a, tuple(range(a.ndim))[::-1])
c = torch.matrix_exp(b)
b.backward(torch.tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]], dtype=torch.float64))
