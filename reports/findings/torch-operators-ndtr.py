# A finding of refgrad: operators/ndtr, inaccurate.
# `ndtr(a)` at a = -5.0 is 2.866515718791939e-07; torch 2.13.0+cpu gives 2.8665157186802404e-07.
# Violated (SHOULD): ndtr: value and gradient are right, for any shape, attribute and seed.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(-5.0, dtype=torch.float64, requires_grad=True)
b = torch.special.ndtr(a)
b.backward()
got = float(b.detach())
assert math.isclose(got, 2.866515718791939e-07, rel_tol=1e-12), f"the value of b is {got}, but it should be 2.866515718791939e-07"
