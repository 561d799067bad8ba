# A finding of refgrad: third_order/binary_cross_entropy, inaccurate.
# The gradient of `d/da [binary_cross_entropy(a, a)]` with respect to `a` at a = 0.5 is -4.0; torch-func 2.13.0+cpu
# gives -4.000000000031999.
# Violated (SHOULD): binary_cross_entropy: its second derivatives can be differentiated, and the third ones are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(0.5, dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.binary_cross_entropy(a, a, reduction='mean')


output_b, pullback_of_b = torch.func.vjp(program_b, a)
c = pullback_of_b(torch.tensor(1.0, dtype=torch.float64))[0]


def program_b_2(a):
    return torch.nn.functional.binary_cross_entropy(a, a, reduction='mean')


output_b_2, pullback_of_b_2 = torch.func.vjp(program_b_2, a)


def program_d(a):
    b = torch.nn.functional.binary_cross_entropy(a, a, reduction='mean')

    def program_b_3(a):
        return torch.nn.functional.binary_cross_entropy(a, a, reduction='mean')
    output_b_3, pullback_of_b_3 = torch.func.vjp(program_b_3, a)
    return pullback_of_b_3(torch.tensor(1.0, dtype=torch.float64))[0]


output_d, pullback_of_d = torch.func.vjp(program_d, a)
[gradient_of_a] = pullback_of_d(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert math.isclose(got, -4.0, rel_tol=1e-12), f"the gradient of a is {got}, but it should be -4.0"
