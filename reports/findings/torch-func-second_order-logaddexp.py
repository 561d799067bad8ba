# A finding of refgrad: second_order/logaddexp, wrong higher derivative.
# The gradient of `d/db [logaddexp(a, b)]` with respect to `b` at a = 800.0, b = 1.0 is 0; torch-func 2.13.0+cpu gives
# nan.
# Violated (MUST): logaddexp: its gradient can be differentiated, and the second derivatives are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor(800.0, dtype=torch.float64)
b = torch.tensor(1.0, dtype=torch.float64)


def program_c(b):
    return torch.logaddexp(a, b)


output_c, pullback_of_c = torch.func.vjp(program_c, b)


def program_d(b):
    c = torch.logaddexp(a, b)

    def program_c_2(b):
        return torch.logaddexp(a, b)
    output_c_2, pullback_of_c_2 = torch.func.vjp(program_c_2, b)
    return pullback_of_c_2(torch.tensor(1.0, dtype=torch.float64))[0]


output_d, pullback_of_d = torch.func.vjp(program_d, b)
[gradient_of_b] = pullback_of_d(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_b.float() if gradient_of_b.dtype == torch.bfloat16 else gradient_of_b).numpy(force=True))
assert abs(got) < 1e-12, f"the gradient of b is {got}, but it should be 0.0"
