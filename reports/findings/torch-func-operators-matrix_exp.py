# A finding of refgrad: operators/matrix_exp, inaccurate.
# `matrix_exp(a)` in entry [1, 1] is 1.034584606728118; torch-func 2.13.0+cpu gives 1.0345846066906221.
# Violated (SHOULD): matrix_exp: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor([[-0.0, 0.0], [0.0, 0.034]], dtype=torch.float64)
b = torch.linalg.matrix_exp(a)


def program_b(a):
    return torch.linalg.matrix_exp(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor([[1.0, 1.0], [1.0, 1.0]], dtype=torch.float64))
got = float((b.float() if b.dtype == torch.bfloat16 else b).numpy(force=True)[1, 1])
assert math.isclose(got, 1.034584606728118, rel_tol=1e-12), f"the value of b at [1, 1] is {got}, but it should be 1.034584606728118"
