# A finding of refgrad: operators/polygamma, inaccurate.
# `polygamma(a, n=1)` at a = 1.0 is 1.6449340668482264; torch-func 2.13.0+cpu gives 1.6449340676383375.
# Violated (SHOULD): polygamma: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(1.0, dtype=torch.float64)
b = torch.polygamma(1, a)


def program_b(a):
    return torch.polygamma(1, a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(1.0, dtype=torch.float64))
got = float((b.float() if b.dtype == torch.bfloat16 else b).numpy(force=True))
assert math.isclose(got, 1.6449340668482264, rel_tol=1e-12), f"the value of b is {got}, but it should be 1.6449340668482264"
