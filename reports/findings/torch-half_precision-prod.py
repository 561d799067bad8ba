# A finding of refgrad: half_precision/prod, wrong first derivative.
# The gradient of `prod(a)` with respect to `a` in entry [9] is 4.52994e-06; torch 2.13.0+cpu gives 3.15905e-06.
# Violated (SHOULD): prod: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch


def product(x, axis, keepdims):
    for a in sorted((a % x.ndim for a in (tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis)), reverse=True):
        x = torch.prod(x, dim=a, keepdim=keepdims)
    return x


a = torch.tensor([-0.318115234375, -0.96484375, 0.045013427734375, -0.3798828125, 1.134765625, -0.787109375, -0.093994140625, 0.333984375, 1.6328125, 0.0189971923828125, -0.873046875, 1.0234375, 0.47412109375, -0.998046875, 1.638671875, 1.931640625, 1.2412109375, 1.609375, -0.759765625, 0.919921875, 1.595703125, 0.73583984375, -0.11102294921875, -1.59765625, -0.262939453125, 0.444091796875, 1.65234375, 1.8671875, -0.09197998046875, 1.4619140625], dtype=torch.float16, requires_grad=True)
b = product(a, None, False)
b.backward()
got = float(a.grad[9])
assert math.isclose(got, 4.52993583908984e-06, rel_tol=0.1), f"the gradient of a at [9] is {got}, but it should be 4.52993583908984e-06"
