# A finding of refgrad: graphs/double_backward, wrong higher derivative.
# The gradient of `d/da [multiply(squared_error(logcumsumexp(a), logcumsumexp(a)), d)]` with respect to `d` at a =
# [1.0], d = 1.0 is 0; torch-func 2.13.0+cpu gives nan.
# Violated (MUST): Gradients of random graphs' gradients are right.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([1.0], dtype=torch.float64)
d = torch.tensor(1.0, dtype=torch.float64)


def program_e(a):
    b = torch.logcumsumexp(a, dim=0)
    c = torch.nn.functional.mse_loss(*torch.broadcast_tensors(b, b), reduction='none')
    return torch.mul(c, d)


output_e, pullback_of_e = torch.func.vjp(program_e, a)


def program_f(a, d):
    b = torch.logcumsumexp(a, dim=0)
    c = torch.nn.functional.mse_loss(*torch.broadcast_tensors(b, b), reduction='none')
    e = torch.mul(c, d)

    def program_e_2(a):
        b = torch.logcumsumexp(a, dim=0)
        c = torch.nn.functional.mse_loss(*torch.broadcast_tensors(b, b), reduction='none')
        return torch.mul(c, d)
    output_e_2, pullback_of_e_2 = torch.func.vjp(program_e_2, a)
    return pullback_of_e_2(torch.tensor([1.0], dtype=torch.float64))[0]


output_f, pullback_of_f = torch.func.vjp(program_f, a, d)
gradient_of_a, gradient_of_d = pullback_of_f(torch.tensor([1.0], dtype=torch.float64))
got = float((gradient_of_d.float() if gradient_of_d.dtype == torch.bfloat16 else gradient_of_d).numpy(force=True))
assert abs(got) < 1e-12, f"the gradient of d is {got}, but it should be 0.0"
