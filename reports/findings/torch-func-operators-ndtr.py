# A finding of refgrad: operators/ndtr, inaccurate.
# `ndtr(a)` at a = -5.0 is 2.866515718791939e-07; torch-func 2.13.0+cpu gives 2.8665157186802404e-07.
# Violated (SHOULD): ndtr: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(-5.0, dtype=torch.float64)
b = torch.special.ndtr(a)


def program_b(a):
    return torch.special.ndtr(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(1.0, dtype=torch.float64))
got = float((b.float() if b.dtype == torch.bfloat16 else b).numpy(force=True))
assert math.isclose(got, 2.866515718791939e-07, rel_tol=1e-12), f"the value of b is {got}, but it should be 2.866515718791939e-07"
