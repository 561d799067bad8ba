# A finding of refgrad on torch, version 2.13.0+cpu: operators/vander is unexpected-error.
# vander: value and gradient are right, for any shape, attribute and seed.
# Found: step 3, `backward b seed float64[1, 2] {0x1p+0 0x1p+0}`: raised RuntimeError: one of the variables needed for
# gradient computation has been modified by an inplace operation: [torch.DoubleTensor [1, 1]], which is output 0 of
# AsStrided, is at version 3; expected version 2 instead. Hint: enable anomaly detection to find the operation that
# failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([1.0]), dtype=torch.float64, requires_grad=True)
b = torch.vander(a, 2, False)
b.backward(torch.tensor(np.array([[1.0, 1.0]]), dtype=torch.float64), retain_graph=False)
