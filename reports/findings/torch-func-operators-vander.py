# A finding of refgrad: operators/vander, wrong error.
# `vander(a, columns=2)` has a gradient at a = [1.0]; torch-func 2.13.0+cpu raises RuntimeError: one of the variables
# needed for gradient computation has been modified by an inplace operation: [torch.DoubleTensor [1, 1]], which is
# output 0 of AsStrided, is at version 3; expected version 2 instead. Hint: enable anomaly detection to find the
# operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
# Violated (MUST): vander: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor([1.0], dtype=torch.float64)


def program_b(a):
    return torch.vander(a, 2, False)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor([[1.0, 1.0]], dtype=torch.float64))
