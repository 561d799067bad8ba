# A finding of refgrad: half_precision/matrix_exp, wrong first derivative.
# The gradient of `matrix_exp(a)` with respect to `a` at a = [[1.0]] in entry [0, 0] is 2.71828; torch-func 2.13.0+cpu
# gives -inf.
# Violated (SHOULD): matrix_exp: in float16 and bfloat16, as far as it is offered in them, value and gradient are
# right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor([[1.0]], dtype=torch.float16)


def program_b(a):
    return torch.matrix_exp(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor([[1.0]], dtype=torch.float16))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True)[0, 0])
assert math.isclose(got, 2.718281828459045, rel_tol=1e-06), f"the gradient of a at [0, 0] is {got}, but it should be 2.718281828459045"
