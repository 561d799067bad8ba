# A finding of refgrad: operators/bce_with_logits, inaccurate.
# `bce_with_logits(a, b)` at a = -5.0, b = 0.0 is 0.006715348489118068; torch-func 2.13.0+cpu gives
# 0.006715348489118256.
# Violated (SHOULD): bce_with_logits: value and gradient are right, for any shape, attribute and seed.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import torch

a = torch.tensor(-5.0, dtype=torch.float64)
b = torch.tensor(0.0, dtype=torch.float64)
c = torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(a, b), reduction='none')


def program_c(b):
    return torch.nn.functional.binary_cross_entropy_with_logits(*torch.broadcast_tensors(a, b), reduction='none')


output_c, pullback_of_c = torch.func.vjp(program_c, b)
[gradient_of_b] = pullback_of_c(torch.tensor(1.0, dtype=torch.float64))
got = float((c.float() if c.dtype == torch.bfloat16 else c).numpy(force=True))
assert math.isclose(got, 0.006715348489118068, rel_tol=1e-15), f"the value of c is {got}, but it should be 0.006715348489118068"
