# A finding of refgrad on torch, version 2.13.0+cpu: operators/pixel_unshuffle is unexpected-error.
# pixel_unshuffle: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[0, 1, 2] {}`: raised RuntimeError: Mismatch in shape: grad_output[0] has a
# shape of torch.Size([0, 1, 2]) and output[0] has a shape of torch.Size([0, 2, 4]).

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.zeros((0, 2, 4)), dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.pixel_unshuffle(a, 2)
b.backward(torch.tensor(np.zeros((0, 1, 2)), dtype=torch.float64), retain_graph=False)
