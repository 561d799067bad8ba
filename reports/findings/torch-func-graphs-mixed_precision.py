# A finding of refgrad: graphs/mixed_precision, inaccurate.
# The gradient of `arctan2(a, b)` with respect to `a` at a = 1.0, b = 1.847000002861023 is 0.41868709032331364;
# torch-func 2.13.0+cpu gives 0.41868710070211035.
# Violated (SHOULD): Random graphs of float32 and float64 have the right gradients, each in its leaf's dtype.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(1.0, dtype=torch.float64)
b = torch.tensor(1.847000002861023, dtype=torch.float32)


def program_c(a):
    return torch.atan2(a, b)


output_c, pullback_of_c = torch.func.vjp(program_c, a)
[gradient_of_a] = pullback_of_c(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, 0.41868709032331364, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.41868709032331364"
