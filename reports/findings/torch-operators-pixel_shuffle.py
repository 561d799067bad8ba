# A finding of refgrad on torch, version 2.13.0+cpu: operators/pixel_shuffle is unexpected-error.
# pixel_shuffle: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[1, 0, 4] {}`: raised RuntimeError: Function PixelShuffleBackward0 returned
# an invalid gradient at index 0 - got [1, 0, 4] but expected shape compatible with [4, 0, 2]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.zeros((4, 0, 2)), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.pixel_shuffle(a, 2)
b.backward(torch.tensor(np.zeros((1, 0, 4)), dtype=torch.float64), retain_graph=False)
