"""PyTorch 2.13.0 (CPU): two results are read from memory that nothing was written to.

The loss of no samples is 0, summed up. The gradient of a bfloat16 convolution's weight is 0 where an entry meets
padding alone, as the first does here. What comes is what lay in memory: mostly 0 in a new process, any number in a long
one. MALLOC_PERTURB_ makes the C library (glibc) fill what it hands out, with bytes of 0x44 here, which make 7.5e20 in
float64 and 784 in bfloat16. Nothing of refgrad is imported.
"""

import os
import sys

if os.environ.get("MALLOC_PERTURB_") != "187":
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_PERTURB_": "187"})  # noqa: S606

import torch
from torch.nn.functional import conv1d, multi_margin_loss

loss = multi_margin_loss(torch.zeros(0, 2, dtype=torch.float64), torch.zeros(0, dtype=torch.int64), reduction="sum")
print(f"multi_margin_loss of no samples, summed up: {loss:.4g}, due 0")

for dtype in (torch.float32, torch.bfloat16):
    x = torch.ones(1, 1, 2, dtype=dtype)
    weight = torch.ones(1, 1, 2, dtype=dtype, requires_grad=True)
    conv1d(x, weight, stride=3, padding=1).sum().backward()
    print(f"{dtype}: gradient of the weight {weight.grad.flatten().tolist()}, due [0.0, 1.0]")
