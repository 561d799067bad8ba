# A finding of refgrad: operators/block_diag, wrong first derivative.
# The gradient of `block_diag(a, b)` with respect to `b` at a = [], b = 1.0 is 2; torch-func 2.13.0+cpu gives 1.
# Violated (MUST): block_diag: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import torch

a = torch.tensor(np.zeros((0,)), dtype=torch.float64)
b = torch.tensor(1.0, dtype=torch.float64)


def program_c(b):
    return torch.block_diag(a, b)


output_c, pullback_of_c = torch.func.vjp(program_c, b)
[gradient_of_b] = pullback_of_c(torch.tensor([[1.0], [2.0]], dtype=torch.float64))
got = float((gradient_of_b.float() if gradient_of_b.dtype == torch.bfloat16 else gradient_of_b).numpy(force=True))
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of b is {got}, but it should be 2.0"
