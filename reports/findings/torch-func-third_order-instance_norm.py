# A finding of refgrad: third_order/instance_norm, wrong higher derivative.
# The gradient of `d/da [d/db [multiply(instance_norm(a, b, b, eps=1.0), a)]]` with respect to `a` at a = [[[1.0,
# 1.0]]], b = [1.0] in entry [0, 0, 0] is 0; torch-func 2.13.0+cpu gives 1.
# Violated (SHOULD): instance_norm: its second derivatives can be differentiated, and the third ones are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[[1.0, 1.0]]], dtype=torch.float64)
b = torch.tensor([1.0], dtype=torch.float64)


def program_d(b):
    c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
    return c * a


output_d, pullback_of_d = torch.func.vjp(program_d, b)


def program_e(a):
    c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
    d = c * a

    def program_d_2(b):
        c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
        return c * a
    output_d_2, pullback_of_d_2 = torch.func.vjp(program_d_2, b)
    return pullback_of_d_2(torch.tensor([[[1.0, 1.0]]], dtype=torch.float64))[0]


output_e, pullback_of_e = torch.func.vjp(program_e, a)


def program_f(a, b):
    c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
    d = c * a

    def program_d_3(b):
        c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
        return c * a
    output_d_3, pullback_of_d_3 = torch.func.vjp(program_d_3, b)
    e = pullback_of_d_3(torch.tensor([[[1.0, 1.0]]], dtype=torch.float64))[0]

    def program_e_2(a):
        c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
        d = c * a

        def program_d_4(b):
            c = torch.nn.functional.instance_norm(a, weight=b, bias=b, eps=1.0)
            return c * a
        output_d_4, pullback_of_d_4 = torch.func.vjp(program_d_4, b)
        return pullback_of_d_4(torch.tensor([[[1.0, 1.0]]], dtype=torch.float64))[0]
    output_e_2, pullback_of_e_2 = torch.func.vjp(program_e_2, a)
    return pullback_of_e_2(torch.tensor([1.0], dtype=torch.float64))[0]


output_f, pullback_of_f = torch.func.vjp(program_f, a, b)
gradient_of_a, gradient_of_b = pullback_of_f(torch.tensor([[[1.0, 1.0]]], dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True)[0, 0, 0])
assert abs(got) < 0.001, f"the gradient of a at [0, 0, 0] is {got}, but it should be 0.0"
