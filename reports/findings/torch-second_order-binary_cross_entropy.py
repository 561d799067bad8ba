# A finding of refgrad: second_order/binary_cross_entropy, inaccurate.
# The gradient of `d/da [binary_cross_entropy(a, a)]` with respect to `a` at a = 0.5 is -4.0; torch 2.13.0+cpu gives
# -4.000000000031999.
# Violated (SHOULD): binary_cross_entropy: its gradient can be differentiated, and the second derivatives are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.binary_cross_entropy(a, a, reduction='mean')
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
c.backward()
got = float(a.grad)
assert math.isclose(got, -4.0, rel_tol=1e-12), f"the gradient of a is {got}, but it should be -4.0"
