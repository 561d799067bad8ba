# A finding of refgrad: operators/pixel_shuffle, wrong error.
# `pixel_shuffle(a, factor=2)` has a gradient at a = [[], [], [], []]; torch-func 2.13.0+cpu raises RuntimeError:
# Function PixelShuffleBackward0 returned an invalid gradient at index 0 - got [1, 0, 4] but expected shape compatible
# with [4, 0, 2].
# Violated (MUST): pixel_shuffle: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import numpy as np
import torch

a = torch.tensor(np.zeros((4, 0, 2)), dtype=torch.float64)


def program_b(a):
    return torch.nn.functional.pixel_shuffle(a, 2)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor(np.zeros((1, 0, 4)), dtype=torch.float64))
