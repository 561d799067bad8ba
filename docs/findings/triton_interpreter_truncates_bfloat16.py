"""Triton 3.9.0, interpreter (TRITON_INTERPRET=1): float32 is converted to bfloat16 by truncation.

Compiled kernels round to nearest, ties to even, which is the default of a cast. The interpreter also truncates if
fp_downcast_rounding="rtne" asks for that. No GPU is needed. Nothing of refgrad is imported.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def convert(x, default, nearest, n: tl.constexpr):
    """Store float32 numbers as bfloat16, rounded by default and to nearest."""
    i = tl.arange(0, n)
    numbers = tl.load(x + i)
    tl.store(default + i, numbers.to(tl.bfloat16))
    tl.store(nearest + i, numbers.to(tl.bfloat16, fp_downcast_rounding="rtne"))


x = torch.tensor([1.0076, -1.0076, 1.00390625, 1.999])
default, nearest = torch.empty(4, dtype=torch.bfloat16), torch.empty(4, dtype=torch.bfloat16)
convert[(1,)](x, default, nearest, 4)
print("by default:", default.tolist())
print("by rtne:   ", nearest.tolist())
print("expected:  ", x.bfloat16().tolist())
