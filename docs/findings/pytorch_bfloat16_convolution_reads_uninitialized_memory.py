"""PyTorch 2.13.0 (CPU): a bfloat16 convolution reads its weight's gradient from memory that nothing was written to.

The first entry of the weight meets padding alone, so its gradient is 0. What comes is what lay in memory: mostly 0 in a
new process, any number in a long one. MALLOC_PERTURB_ makes the C library (glibc) fill what it hands out, with bytes of
0x44 here, which make 784 in bfloat16. Nothing of refgrad is imported.
"""

import os
import sys

if os.environ.get("MALLOC_PERTURB_") != "187":
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_PERTURB_": "187"})  # noqa: S606

import torch
from torch.nn.functional import conv1d

for dtype in (torch.float32, torch.bfloat16):
    x = torch.ones(1, 1, 2, dtype=dtype)
    weight = torch.ones(1, 1, 2, dtype=dtype, requires_grad=True)
    conv1d(x, weight, stride=3, padding=1).sum().backward()
    print(f"{dtype}: gradient of the weight {weight.grad.flatten().tolist()}, due [0.0, 1.0]")
