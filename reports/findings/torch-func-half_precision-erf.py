# A finding of refgrad: half_precision/erf, wrong value.
# `erf(a)` at a = 1.0005576689441423e-20 is 1.12901e-20; torch-func 2.13.0+cpu gives 0.
# Violated (SHOULD): erf: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(1.0005576689441423e-20, dtype=torch.bfloat16)
b = torch.erf(a)


def program_b(a):
    return torch.erf(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(1.0, dtype=torch.bfloat16))
got = float((b.float() if b.dtype == torch.bfloat16 else b).numpy(force=True))
assert math.isclose(got, 1.1290084291142189e-20, rel_tol=0.1), f"the value of b is {got}, but it should be 1.1290084291142189e-20"
