"""A tape in a few lines of numpy, without anything of refgrad: a process that runs it starts quickly."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tiny:
    """A tensor that remembers how to send a cotangent to its parents."""

    def __init__(self, data: Any, parents: tuple[Any, ...] = (), *, requires_grad: bool = True) -> None:
        self.data = np.asarray(data, dtype=np.float64)
        self.parents = parents
        self.requires_grad = requires_grad
        self.grad: Any = None

    def __add__(self, other: Tiny) -> Tiny:
        return Tiny(self.data + other.data, ((self, lambda g: g), (other, lambda g: g)))

    def __mul__(self, other: Tiny) -> Tiny:
        return Tiny(self.data * other.data, ((self, lambda g: g * other.data), (other, lambda g: g * self.data)))

    def backward(self, seed: Any = None) -> None:
        """Send the seed to every leaf, path by path."""
        seed = np.ones_like(self.data) if seed is None else seed
        if not self.parents and self.requires_grad:
            self.grad = seed if self.grad is None else self.grad + seed
        for parent, send in self.parents:
            parent.backward(send(seed))
