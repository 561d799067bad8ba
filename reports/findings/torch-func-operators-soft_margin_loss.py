# A finding of refgrad: operators/soft_margin_loss, wrong first derivative.
# The gradient of `soft_margin_loss(a, b)` with respect to `a` at a = 800.0, b = False is 1; torch-func 2.13.0+cpu
# gives nan.
# Violated (MUST): soft_margin_loss: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import torch

a = torch.tensor(800.0, dtype=torch.float64)
b = torch.tensor(np.array(False), dtype=torch.bool)


def program_c(a):
    return torch.nn.functional.soft_margin_loss(a, torch.where(b, 1.0, -1.0).to(a.dtype), reduction='mean')


output_c, pullback_of_c = torch.func.vjp(program_c, a)
[gradient_of_a] = pullback_of_c(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, 1.0, rel_tol=1e-06), f"the gradient of a is {got}, but it should be 1.0"
