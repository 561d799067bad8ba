# A finding of refgrad: exceptional/i1, wrong first derivative.
# The gradient of `i1(x1)` with respect to `x1` in entry [0, 1] is nan; torch-func 2.13.0+cpu gives 0.355.
# Violated (MUST): i1: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number
# and -0.0 are numbers like others.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import torch

x1 = torch.tensor(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64)


def program_a1(x1):
    return torch.special.i1(x1)


output_a1, pullback_of_a1 = torch.func.vjp(program_a1, x1)
[gradient_of_x1] = pullback_of_a1(torch.tensor([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]], dtype=torch.float64))
got = float((gradient_of_x1.float() if gradient_of_x1.dtype == torch.bfloat16 else gradient_of_x1).numpy(force=True)[0, 1])
assert math.isnan(got), f"the gradient of x1 at [0, 1] is {got}, but it should be nan"
