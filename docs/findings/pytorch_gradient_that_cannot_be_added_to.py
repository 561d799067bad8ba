"""PyTorch 2.13.0 (CPU): the gradient of a leaf is a tensor that nothing can be added to.

The leaf gets it by a Jacobian in forward mode that does not depend on it. Nothing of refgrad is imported.
"""

import torch

x = torch.tensor(1.5, requires_grad=True)
z = torch.tensor(-0.5, requires_grad=True)
jacobian = torch.func.jacfwd(lambda x, z: x * z)(x, z)  # which is z
jacobian.backward(retain_graph=True)
print("gradients after one backward:", x.grad.item(), z.grad.item())
try:
    jacobian.backward()
except RuntimeError as error:
    print("the second backward:", str(error).partition(".")[0])
try:
    x.grad.add_(1)
except RuntimeError as error:
    print("x.grad.add_(1):", str(error).partition(".")[0])
