# A finding of refgrad: operators/pixel_unshuffle, wrong error.
# `pixel_unshuffle(a, factor=2)` has a gradient at a = []; torch-func 2.13.0+cpu raises RuntimeError: Mismatch in
# shape: grad_output[0] has a shape of torch.Size([0, 1, 2]) and output[0] has a shape of torch.Size([0, 2, 4]).
# Violated (MUST): pixel_unshuffle: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import numpy as np
import torch

a = torch.tensor(np.zeros((0, 2, 4)), dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.pixel_unshuffle(a, 2)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(np.zeros((0, 1, 2)), dtype=torch.float64))
