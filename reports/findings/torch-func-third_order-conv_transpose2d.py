# A finding of refgrad: third_order/conv_transpose2d, missing.
# There is a gradient of `d/db [d/da [multiply(d, d)]]` with respect to `a`; torch-func 2.13.0+cpu gives none, but
# raises RuntimeError: output_padding is not supported for non-transposed convolutions; got: 1 1.
# Violated (SHOULD): conv_transpose2d: its second derivatives can be differentiated, and the third ones are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
b = torch.tensor([[[[1.0]]], [[[1.0]]]], dtype=torch.float64)
c = torch.tensor([1.0], dtype=torch.float64)


def program_e(a):
    d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
    return torch.mul(d, d)


output_e, pullback_of_e = torch.func.vjp(program_e, a)


def program_f(b):
    d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
    e = torch.mul(d, d)

    def program_e_2(a):
        d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
        return torch.mul(d, d)
    output_e_2, pullback_of_e_2 = torch.func.vjp(program_e_2, a)
    return pullback_of_e_2(torch.tensor([[[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64))[0]


output_f, pullback_of_f = torch.func.vjp(program_f, b)


def program_g(a, b):
    d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
    e = torch.mul(d, d)

    def program_e_3(a):
        d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
        return torch.mul(d, d)
    output_e_3, pullback_of_e_3 = torch.func.vjp(program_e_3, a)
    f = pullback_of_e_3(torch.tensor([[[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64))[0]

    def program_f_2(b):
        d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
        e = torch.mul(d, d)

        def program_e_4(a):
            d = torch.nn.functional.conv_transpose2d(a, b, c, (2, 2), (1, 1), 1, c.shape[0] // b.shape[1], 1)
            return torch.mul(d, d)
        output_e_4, pullback_of_e_4 = torch.func.vjp(program_e_4, a)
        return pullback_of_e_4(torch.tensor([[[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64))[0]
    output_f_2, pullback_of_f_2 = torch.func.vjp(program_f_2, b)
    return pullback_of_f_2(torch.tensor([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64))[0]


output_g, pullback_of_g = torch.func.vjp(program_g, a, b)
gradient_of_a, gradient_of_b = pullback_of_g(torch.tensor([[[[1.0]]], [[[1.0]]]], dtype=torch.float64))
