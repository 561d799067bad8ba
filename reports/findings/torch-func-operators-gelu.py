# A finding of refgrad: operators/gelu, inaccurate.
# `gelu(a)` at a = [1.0, -3.0] in entry [1] is -0.00404969; torch-func 2.13.0+cpu gives -0.00405023.
# Violated (SHOULD): gelu: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor([1.0, -3.0], dtype=torch.float32)
b = torch.nn.functional.gelu(a)


def program_b(a):
    return torch.nn.functional.gelu(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor([1.0, 1.0], dtype=torch.float32))
got = float((b.float() if b.dtype == torch.bfloat16 else b).numpy(force=True)[1])
assert math.isclose(got, -0.0040496940948902835, rel_tol=2e-05), f"the value of b at [1] is {got}, but it should be -0.0040496940948902835"
