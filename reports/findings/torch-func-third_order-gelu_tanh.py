# A finding of refgrad: third_order/gelu_tanh, wrong higher derivative.
# The gradient of `d/da [d/da [gelu_tanh(a)]]` with respect to `a` at a = 800.0 is 0; torch-func 2.13.0+cpu gives nan.
# Violated (SHOULD): gelu_tanh: its second derivatives can be differentiated, and the third ones are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor(800.0, dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.gelu(a, approximate='tanh')


output_b, pullback_of_b = torch.func.vjp(program_b, a)


def program_c(a):
    b = torch.nn.functional.gelu(a, approximate='tanh')

    def program_b_2(a):
        return torch.nn.functional.gelu(a, approximate='tanh')
    output_b_2, pullback_of_b_2 = torch.func.vjp(program_b_2, a)
    return pullback_of_b_2(torch.tensor(1.0, dtype=torch.float64))[0]


output_c, pullback_of_c = torch.func.vjp(program_c, a)


def program_d(a):
    b = torch.nn.functional.gelu(a, approximate='tanh')

    def program_b_3(a):
        return torch.nn.functional.gelu(a, approximate='tanh')
    output_b_3, pullback_of_b_3 = torch.func.vjp(program_b_3, a)
    c = pullback_of_b_3(torch.tensor(1.0, dtype=torch.float64))[0]

    def program_c_2(a):
        b = torch.nn.functional.gelu(a, approximate='tanh')

        def program_b_4(a):
            return torch.nn.functional.gelu(a, approximate='tanh')
        output_b_4, pullback_of_b_4 = torch.func.vjp(program_b_4, a)
        return pullback_of_b_4(torch.tensor(1.0, dtype=torch.float64))[0]
    output_c_2, pullback_of_c_2 = torch.func.vjp(program_c_2, a)
    return pullback_of_c_2(torch.tensor(1.0, dtype=torch.float64))[0]


output_d, pullback_of_d = torch.func.vjp(program_d, a)
[gradient_of_a] = pullback_of_d(torch.tensor(1.0, dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True))
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
