"""Which recorded graphs do the tests of pictures show?"""

from __future__ import annotations

from typing import Any

import refgrad.engine as torch
from refgrad.engine import Tensor


def small() -> tuple[Any, Tensor, Tensor]:
    """A loss with a shared node, a constant and a node that saves nothing; and its leaves."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    h = torch.exp(w @ x * 0.1 + 1.0)
    return (h * h + torch.where(torch.tensor([True, False]), h, x)).sum(), x, w


def half_freed() -> Any:
    """Two losses of one shared part, after the backward of the first."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shared = torch.exp(x)
    second = (shared * torch.sin(x)).sum()
    shared.sum().backward()
    return second


def overwritten() -> Any:
    """A loss that needs what is no longer there."""
    x = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    y = torch.exp(x)
    z = (y * y).mean()
    with torch.no_grad():
        y += 1
    y.register_hook(lambda gradient: gradient)
    y.retain_grad()
    return z
