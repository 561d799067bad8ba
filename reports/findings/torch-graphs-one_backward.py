# A finding of refgrad on torch, version 2.13.0+cpu: graphs/one_backward is unexpected-error.
# Random graphs with sharing, fan-out and several leaves have the right gradients.
# Found: step 3, `c = solve_vector a b`: raised _LinAlgError: torch.linalg.solve: The solver failed because the input
# matrix is singular.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([[1.0, 0.0], [1.0, 0.0]]), dtype=torch.float64)
b = torch.tensor(np.array([1.0, 1.0]), dtype=torch.float64, requires_grad=True)
c = torch.linalg.solve(a, b)
c.backward(torch.tensor(np.array([1.0, 1.0]), dtype=torch.float64), retain_graph=False)
