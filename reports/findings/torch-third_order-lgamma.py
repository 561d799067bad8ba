# A finding of refgrad: third_order/lgamma, inaccurate.
# The gradient of `d/da [lgamma(a)]` with respect to `a` at a = 1.0 is 1.6449340668482264; torch 2.13.0+cpu gives
# 1.6449340676383375.
# Violated (SHOULD): lgamma: its second derivatives can be differentiated, and the third ones are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
b = torch.special.gammaln(a)
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
d = torch.autograd.grad(b, a, None, create_graph=True)[0]
d.backward()
got = float(a.grad)
assert math.isclose(got, 1.6449340668482264, rel_tol=1e-12), f"the gradient of a is {got}, but it should be 1.6449340668482264"
