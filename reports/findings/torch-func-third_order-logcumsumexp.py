# A finding of refgrad: third_order/logcumsumexp, wrong higher derivative.
# The gradient of `d/da [d/da [multiply(logcumsumexp(a), logcumsumexp(a))]]` with respect to `a` at a = [1.0] in entry
# [0] is 0; torch-func 2.13.0+cpu gives nan.
# Violated (SHOULD): logcumsumexp: its second derivatives can be differentiated, and the third ones are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([1.0], dtype=torch.float64)


def program_c(a):
    b = torch.logcumsumexp(a, dim=0)
    return b * b


output_c, pullback_of_c = torch.func.vjp(program_c, a)


def program_d(a):
    b = torch.logcumsumexp(a, dim=0)
    c = b * b

    def program_c_2(a):
        b = torch.logcumsumexp(a, dim=0)
        return b * b
    output_c_2, pullback_of_c_2 = torch.func.vjp(program_c_2, a)
    return pullback_of_c_2(torch.tensor([1.0], dtype=torch.float64))[0]


output_d, pullback_of_d = torch.func.vjp(program_d, a)


def program_e(a):
    b = torch.logcumsumexp(a, dim=0)
    c = b * b

    def program_c_3(a):
        b = torch.logcumsumexp(a, dim=0)
        return b * b
    output_c_3, pullback_of_c_3 = torch.func.vjp(program_c_3, a)
    d = pullback_of_c_3(torch.tensor([1.0], dtype=torch.float64))[0]

    def program_d_2(a):
        b = torch.logcumsumexp(a, dim=0)
        c = b * b

        def program_c_4(a):
            b = torch.logcumsumexp(a, dim=0)
            return b * b
        output_c_4, pullback_of_c_4 = torch.func.vjp(program_c_4, a)
        return pullback_of_c_4(torch.tensor([1.0], dtype=torch.float64))[0]
    output_d_2, pullback_of_d_2 = torch.func.vjp(program_d_2, a)
    return pullback_of_d_2(torch.tensor([1.0], dtype=torch.float64))[0]


output_e, pullback_of_e = torch.func.vjp(program_e, a)
[gradient_of_a] = pullback_of_e(torch.tensor([1.0], dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True)[0])
assert abs(got) < 1e-12, f"the gradient of a at [0] is {got}, but it should be 0.0"
