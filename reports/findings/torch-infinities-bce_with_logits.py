# A finding of refgrad: infinities/bce_with_logits, wrong value.
# `bce_with_logits(x1, x2)` in entry [0, 1] is inf; torch 2.13.0+cpu gives nan.
# Violated (SHOULD): bce_with_logits: where an operand is infinite, value and gradient are their limits, if formulas
# reach them.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import numpy as np
import torch

x1 = torch.tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64, requires_grad=True)
x2 = torch.tensor([[0.903, 0.31, 0.73], [0.899, 0.684, 0.472]], dtype=torch.float64, requires_grad=True)
a1 = torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(x1, x2), reduction='none')
a1.backward(torch.tensor([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]], dtype=torch.float64))
got = float(a1.detach()[0, 1])
assert got == float("inf"), f"the value of a1 at [0, 1] is {got}, but it should be inf"
