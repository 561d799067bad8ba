# A finding of refgrad: contracts/vstack, wrong first derivative.
# At the end of the program, the gradient of `a`, added up over 2 backwards, is 2; torch 2.13.0+cpu gives 3.
# Violated (MUST): vstack: its backward leaves operands and seeds as they are, gives the same when it is walked again,
# and no two gradients share memory.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
b = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
c = torch.row_stack([a, b])
d = torch.sum(c, dim=tuple(range(c.ndim)))
d.backward(retain_graph=True)
d.backward()
got = float(a.grad)
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of a is {got}, but it should be 2.0"
