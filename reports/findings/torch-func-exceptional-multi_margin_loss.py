# A finding of refgrad: exceptional/multi_margin_loss, wrong value.
# `multi_margin_loss(x1, margin=2.317, p=2, reduction='mean', target=(1, 0))` is nan; torch-func 2.13.0+cpu gives
# 4.54091.
# Violated (MUST): multi_margin_loss: NaN and infinities reach what depends on them and nothing else; subnormals, the
# largest number and -0.0 are numbers like others.
# Found on torch-func 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import torch

x1 = torch.tensor(np.array([[0.068, np.nan, 1.703], [-1.18, -0.14, 0.5]]), dtype=torch.float64)
a1 = torch.nn.functional.multi_margin_loss(x1, torch.tensor((1, 0), dtype=torch.int64).reshape(x1.shape[:1] * (x1.ndim > 1) + x1.shape[2:]), 2, 2.317, reduction='mean')


def program_a1(x1):
    return torch.nn.functional.multi_margin_loss(x1, torch.tensor((1, 0), dtype=torch.int64).reshape(x1.shape[:1] * (x1.ndim > 1) + x1.shape[2:]), 2, 2.317, reduction='mean')


output_a1, pullback_of_a1 = torch.func.vjp(program_a1, x1)
[gradient_of_x1] = pullback_of_a1(torch.tensor(1.0, dtype=torch.float64))
got = float((a1.float() if a1.dtype == torch.bfloat16 else a1).numpy(force=True))
assert math.isnan(got), f"the value of a1 is {got}, but it should be nan"
