"""PyTorch 2.13.0 (CPU): two leaves that are added as views share one gradient, to which a second backward adds twice.

The backward of the addition hands one array to both views, each of which hands a view of it to its leaf as ``.grad``.
The next backward adds to that array in place, once for each leaf. Nothing of refgrad is imported.
"""

import torch

x = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
y = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
loss = (x.reshape(2, 1) + y.reshape(2, 1)).square().sum()

for call in (1, 2):
    loss.backward(retain_graph=True)
    due = (call * 2 * (x + y)).tolist()
    print(f"after {call} backward calls: x.grad = {x.grad.tolist()}, y.grad = {y.grad.tolist()}, due are {due}")
print("both share their memory:", x.grad.data_ptr() == y.grad.data_ptr())
