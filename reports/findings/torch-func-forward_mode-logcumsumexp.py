# A finding of refgrad: forward_mode/logcumsumexp, wrong first derivative.
# `jvp [logcumsumexp(a)]` at a = [1.0, 800.0] in entry [0] is 1; torch-func 2.13.0+cpu gives 0.
# Violated (SHOULD): logcumsumexp: forward mode gives its directional derivatives, whichever operands move.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch


def jvp(function, primals, tangents):
    with torch.no_grad():  # forward mode needs no recording
        return torch.func.jvp(function, tuple(primals), tuple(tangents))


a = torch.tensor([1.0, 800.0], dtype=torch.float64)


def function_of_c(a):
    return torch.logcumsumexp(a, dim=0)


tangent_of_a = torch.tensor([1.0, 1.0], dtype=torch.float64)
output, c = jvp(function_of_c, [a], [tangent_of_a])
got = float((c.float() if c.dtype == torch.bfloat16 else c).numpy(force=True)[0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the value of c at [0] is {got}, but it should be 1.0"
