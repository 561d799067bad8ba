# A finding of refgrad: infinities/polygamma, wrong first derivative.
# The gradient of `polygamma(x1, n=2)` with respect to `x1` in entry [0, 1] is 0; torch-func 2.13.0+cpu gives nan.
# Violated (SHOULD): polygamma: where an operand is infinite, value and gradient are their limits, if formulas reach
# them.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import numpy as np
import torch

x1 = torch.tensor(np.array([[1.68, np.inf, 2.417], [1.119, 1.587, 1.875]]), dtype=torch.float64)


def program_a1(x1):
    return torch.special.polygamma(2, x1)


output_a1, pullback_of_a1 = torch.func.vjp(program_a1, x1)
[gradient_of_x1] = pullback_of_a1(torch.tensor([[0.71, -1.497, 2.459], [2.897, 1.862, 2.413]], dtype=torch.float64))
got = float((gradient_of_x1.float() if gradient_of_x1.dtype == torch.bfloat16 else gradient_of_x1).numpy(force=True)[0, 1])
assert abs(got) < 1e-12, f"the gradient of x1 at [0, 1] is {got}, but it should be 0.0"
