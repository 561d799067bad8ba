# A finding of refgrad: second_order/i1, wrong higher derivative.
# The gradient of `d/da [i1(a)]` with respect to `a` at a = -1e-160 is -3.75e-161; torch-func 2.13.0+cpu gives 0.
# Violated (MUST): i1: its gradient can be differentiated, and the second derivatives are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(-1e-160, dtype=torch.float64)


def program_b(a):
    return torch.special.i1(a)


output_b, pullback_of_b = torch.func.vjp(program_b, a)


def program_c(a):
    b = torch.special.i1(a)

    def program_b_2(a):
        return torch.special.i1(a)
    output_b_2, pullback_of_b_2 = torch.func.vjp(program_b_2, a)
    return pullback_of_b_2(torch.tensor(1.0, dtype=torch.float64))[0]


output_c, pullback_of_c = torch.func.vjp(program_c, a)
[gradient_of_a] = pullback_of_c(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, -3.75e-161, rel_tol=0.001), f"the gradient of a is {got}, but it should be -3.75e-161"
