"""PyTorch 2.13.0 (CPU): the gradients of leaves that were stacked and summed share their memory.

The backward of ``sum`` expands its cotangent without copying, the backward of ``stack`` hands out views of it, and each
leaf keeps its view as ``.grad``. The next backward adds in place, to all of them at once. Nothing of refgrad is
imported.
"""

import torch

a = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
b = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)

torch.stack([a, b]).sum(0).backward(torch.ones(2, dtype=torch.float64))
print("b.grad after d(a + b)/db:", b.grad.tolist())

(5 * a).sum().backward()
print("b.grad after a further backward that has nothing to do with b:", b.grad.tolist())
print("a.grad and b.grad share their memory:", a.grad.data_ptr() == b.grad.data_ptr())
