# A finding of refgrad on torch, version 2.13.0+cpu: graphs/bfloat16 is unexpected-error.
# Random graphs of bfloat16 have the right gradients, in bfloat16.
# Found: step 2, `b = matrix_norm a order="2"`: raised RuntimeError: linalg.matrix_norm: Low precision dtypes not
# supported. Got BFloat16

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

a = torch.tensor(np.array([[1.0, 1.0], [1.0, 1.0]], dtype=np.float32), dtype=torch.bfloat16, requires_grad=True)
b = torch.linalg.matrix_norm(a, '2' if '2' in ('fro', 'nuc') else float('2'))
b.backward(None, retain_graph=False)
