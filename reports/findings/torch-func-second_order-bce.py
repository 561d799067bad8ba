# A finding of refgrad: second_order/bce, inaccurate.
# The gradient of `d/da [bce(a, a)]` with respect to `a` at a = 0.5 is -4.0; torch-func 2.13.0+cpu gives
# -4.000000000031999.
# Violated (SHOULD): bce: its gradient can be differentiated, and the second derivatives are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(0.5, dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.binary_cross_entropy(*torch.broadcast_tensors(a, a), reduction='none')


output_b, pullback_of_b = torch.func.vjp(program_b, a)


def program_c(a):
    b = torch.nn.functional.binary_cross_entropy(*torch.broadcast_tensors(a, a), reduction='none')

    def program_b_2(a):
        return torch.nn.functional.binary_cross_entropy(*torch.broadcast_tensors(a, a), reduction='none')
    output_b_2, pullback_of_b_2 = torch.func.vjp(program_b_2, a)
    return pullback_of_b_2(torch.tensor(1.0, dtype=torch.float64))[0]


output_c, pullback_of_c = torch.func.vjp(program_c, a)
[gradient_of_a] = pullback_of_c(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, -4.0, rel_tol=1e-12), f"the gradient of a is {got}, but it should be -4.0"
