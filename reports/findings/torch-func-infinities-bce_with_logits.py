# A finding of refgrad: infinities/bce_with_logits, wrong first derivative.
# The gradient of `bce_with_logits(x1, x2)` with respect to `x1` in entry [0, 1] is -0.868; torch-func 2.13.0+cpu
# gives nan.
# Violated (SHOULD): bce_with_logits: where an operand is infinite, value and gradient are their limits, if formulas
# reach them.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import torch

x1 = torch.tensor(np.array([[0.068, -np.inf, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64)
x2 = torch.tensor([[0.903, 0.31, 0.73], [0.899, 0.684, 0.472]], dtype=torch.float64)


def program_a1(x1, x2):
    return torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(x1, x2), reduction='none')


output_a1, pullback_of_a1 = torch.func.vjp(program_a1, x1, x2)
gradient_of_x1, gradient_of_x2 = pullback_of_a1(torch.tensor([[2.478, 2.8, -0.138], [2.192, -1.437, 1.83]], dtype=torch.float64))
got = float((gradient_of_x1.float() if gradient_of_x1.dtype == torch.bfloat16 else gradient_of_x1).numpy(force=True)[0, 1])
assert math.isclose(got, -0.868, rel_tol=1e-06), f"the gradient of x1 at [0, 1] is {got}, but it should be -0.868"
