"""A tape that keeps gradients, and numbers that are no arrays, in single precision, and takes no seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Tensor:
    """An array as it is given, or a number in single precision, with a gradient in single precision."""

    def __init__(self, data: Any, parents: tuple[tuple[Tensor, Callable[[Any], Any]], ...] = ()) -> None:
        self.data = data if isinstance(data, np.ndarray) else np.array(data, dtype=np.float32)
        self.parents = parents
        self.grad: Any = np.zeros_like(self.data, dtype=np.float32)

    def __add__(self, other: Tensor) -> Tensor:
        return Tensor(self.data + other.data, ((self, lambda g: g), (other, lambda g: g)))

    def exp(self) -> Tensor:
        """Return the exponential."""
        y = np.exp(self.data)
        return Tensor(y, ((self, lambda g: g * y),))

    def backward(self, cotangent: Any = None) -> None:
        """Send ones to every leaf, path by path."""
        cotangent = np.ones_like(self.data, dtype=np.float32) if cotangent is None else cotangent
        self.grad = self.grad + cotangent
        for parent, send in self.parents:
            parent.backward(send(cotangent))
