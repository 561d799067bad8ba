# A finding of refgrad: forward_mode/fmax, inaccurate.
# `jvp [fmax(a, b)]` at a = 2.0, b = [1.0, 1.0] in entry [1] is 0.014; torch-func 2.13.0+cpu gives
# 0.01399999999999979.
# Violated (SHOULD): fmax: forward mode gives its directional derivatives, whichever operands move.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch


def jvp(function, primals, tangents):
    with torch.no_grad():  # forward mode needs no recording
        return torch.func.jvp(function, tuple(primals), tuple(tangents))


a = torch.tensor(2.0, dtype=torch.float64)
b = torch.tensor([1.0, 1.0], dtype=torch.float64)


def function_of_d(a, b):
    return torch.fmax(a, b)


tangent_of_a = torch.tensor(0.014, dtype=torch.float64)
tangent_of_b = torch.tensor([1.0, -2.0], dtype=torch.float64)
output, d = jvp(function_of_d, [a, b], [tangent_of_a, tangent_of_b])
got = float((d.float() if d.dtype == torch.bfloat16 else d).numpy(force=True)[1])
assert math.isclose(got, 0.014, rel_tol=1e-15), f"the value of d at [1] is {got}, but it should be 0.014"
