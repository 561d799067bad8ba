# A finding of refgrad: operators/hard_sigmoid, inaccurate.
# The gradient of `hard_sigmoid(a)` with respect to `a` at a = 1.0 is 0.16666666666666666; torch-func 2.13.0+cpu gives
# 0.1666666716337204.
# Violated (SHOULD): hard_sigmoid: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(1.0, dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.hardsigmoid(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, 0.16666666666666666, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.16666666666666666"
