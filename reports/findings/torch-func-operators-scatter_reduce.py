# A finding of refgrad: operators/scatter_reduce, wrong first derivative.
# The gradient of `scatter_reduce(a, a, axis=0, include_self=False, indices=((0,),), reduce='min')` with respect to
# `a` at a = [[1.0]] in entry [0, 0] is 1; torch-func 2.13.0+cpu gives 0.5.
# Violated (MUST): scatter_reduce: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor([[1.0]], dtype=torch.float64)


def program_b(a):
    return torch.scatter_reduce(a, 0, torch.tensor(((0,),), dtype=torch.int64), a, 'amin', include_self=False)


output_b, pullback_of_b = torch.func.vjp(program_b, a)
[gradient_of_a] = pullback_of_b(torch.tensor([[1.0]], dtype=torch.float64))
got = float((gradient_of_a.float() if gradient_of_a.dtype == torch.bfloat16 else gradient_of_a).numpy(force=True)[0, 0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of a at [0, 0] is {got}, but it should be 1.0"
