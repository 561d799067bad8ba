# A finding of refgrad: half_precision/logaddexp, wrong first derivative.
# The gradient of `logaddexp(a, b)` with respect to `b` at a = 5.1640625, b = -6.0 is 1.41743e-05; torch-func
# 2.13.0+cpu gives 0.
# Violated (SHOULD): logaddexp: in float16 and bfloat16, as far as it is offered in them, value and gradient are
# right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(5.1640625, dtype=torch.float16)
b = torch.tensor(-6.0, dtype=torch.float16)


def program_c(b):
    return torch.logaddexp(a, b)


output_c, pullback_of_c = torch.func.vjp(program_c, b)
[gradient_of_b] = pullback_of_c(torch.tensor(1.0, dtype=torch.float16))
got = float((gradient_of_b.float() if gradient_of_b.dtype == torch.bfloat16 else gradient_of_b).numpy(force=True))
assert math.isclose(got, 1.4174348445529376e-05, rel_tol=0.1), f"the gradient of b is {got}, but it should be 1.4174348445529376e-05"
