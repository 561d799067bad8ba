# A finding of refgrad: third_order/layer_norm, wrong higher derivative.
# The gradient of `d/da [d/db [multiply(layer_norm(a, b, c, eps=1.0), a)]]` with respect to `a` at a = [1.0], b =
# [1.0], c = [1.0] in entry [0] is 0; torch-func 2.13.0+cpu gives 1.
# Violated (SHOULD): layer_norm: its second derivatives can be differentiated, and the third ones are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([1.0], dtype=torch.float64)
b = torch.tensor([1.0], dtype=torch.float64)
c = torch.tensor([1.0], dtype=torch.float64)


def program_e(b):
    d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
    return d * a


output_e, pullback_of_e = torch.func.vjp(program_e, b)


def program_f(a):
    d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
    e = d * a

    def program_e_2(b):
        d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
        return d * a
    output_e_2, pullback_of_e_2 = torch.func.vjp(program_e_2, b)
    return pullback_of_e_2(torch.tensor([1.0], dtype=torch.float64))[0]


output_f, pullback_of_f = torch.func.vjp(program_f, a)


def program_g(a, b):
    d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
    e = d * a

    def program_e_3(b):
        d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
        return d * a
    output_e_3, pullback_of_e_3 = torch.func.vjp(program_e_3, b)
    f = pullback_of_e_3(torch.tensor([1.0], dtype=torch.float64))[0]

    def program_f_2(a):
        d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
        e = d * a

        def program_e_4(b):
            d = torch.layer_norm(a, a.shape[-1:], b, c, 1.0)
            return d * a
        output_e_4, pullback_of_e_4 = torch.func.vjp(program_e_4, b)
        return pullback_of_e_4(torch.tensor([1.0], dtype=torch.float64))[0]
    output_f_2, pullback_of_f_2 = torch.func.vjp(program_f_2, a)
    return pullback_of_f_2(torch.tensor([1.0], dtype=torch.float64))[0]


output_g, pullback_of_g = torch.func.vjp(program_g, a, b)
gradient_of_a, gradient_of_b = pullback_of_g(torch.tensor([1.0], dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True)[0])
assert abs(got) < 0.001, f"the gradient of a at [0] is {got}, but it should be 0.0"
