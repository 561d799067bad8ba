# A finding of refgrad: edges/hypot, missing.
# The gradient of `hypot(a, a)` with respect to `a` at a = 0.0 is between -2 and 2; torch-func 2.13.0+cpu gives nan.
# Violated (MUST): hypot: at its edges the gradient is an element of the subdifferential.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor(0.0, dtype=torch.float64)


def program_b(a):
    return torch.hypot(a, a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert -2.0 <= got <= 2.0, f"the gradient of a is {got}, but it should be between -2.0 and 2.0"
