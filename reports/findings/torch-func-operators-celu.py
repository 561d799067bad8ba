# A finding of refgrad: operators/celu, inaccurate.
# The gradient of `celu(a, alpha=1.3)` with respect to `a` at a = -1.0 is 0.46336936923117533; torch-func 2.13.0+cpu
# gives 0.46336937315339527.
# Violated (SHOULD): celu: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(-1.0, dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.celu(a, alpha=1.3)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, 0.46336936923117533, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.46336936923117533"
