"""PyTorch 2.13.0 (CPU): near 0 the gradient of sinc is wrong, and so are higher derivatives of Bessel functions.

sinc(x) = 1 - (pi x)^2 / 6 + ... and I1(x) = x / 2 + x^3 / 16 + ... (NIST DLMF 10.25), so for x of 1e-7 and less the
slope of sinc is -pi^2 x / 3, its second derivative -pi^2 / 3, and those of I1 are 1 / 2, 3 x / 8 and 3 / 8, all to more
than ten digits. Nothing of refgrad is imported.
"""

from math import pi

import torch

CASES = (
    ("sinc", torch.sinc, 1e-9, (-(pi**2) * 1e-9 / 3, -(pi**2) / 3)),
    ("special.i1", torch.special.i1, 1e-9, (0.5, 3 * 1e-9 / 8, 3 / 8)),
)

for name, function, x, due in CASES:
    a = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    found = function(a)
    for order, right in enumerate(due, 1):
        (found,) = torch.autograd.grad(found, a, create_graph=True)
        print(f"torch.{name} at {x}: derivative of order {order} is {found.item():.4g} for {right:.4g}")
