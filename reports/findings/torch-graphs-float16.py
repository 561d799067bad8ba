# A finding of refgrad on torch, version 2.13.0+cpu: graphs/float16 is unexpected-error.
# Random graphs of float16 have the right gradients, in float16.
# Found: step 2, `b = matrix_norm a order="2"`: raised RuntimeError: linalg.matrix_norm: Low precision dtypes not
# supported. Got Half

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]], dtype=np.float16), dtype=torch.float16, requires_grad=True)
b = torch.linalg.matrix_norm(a, '2' if '2' in ('fro', 'nuc') else float('2'))
b.backward(None, retain_graph=False)
