"""PyTorch 2.13.0 (CPU): a later backward writes to the seed that an earlier one was given.

The backward of ``reshape`` hands on a view of the seed, the leaf keeps it as ``.grad``, and the next backward adds to
it in place. A seed that is used again is then another one. Nothing of refgrad is imported.
"""

import torch

x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
y = x.reshape(2, 1)
seed = torch.ones(2, 1, dtype=torch.float64)

for call in range(1, 4):
    y.backward(seed, retain_graph=True)
    print(f"after {call} backward calls: x.grad = {x.grad.tolist()}, seed = {seed.flatten().tolist()}")
print("x.grad and the seed share their memory:", x.grad.data_ptr() == seed.data_ptr())
