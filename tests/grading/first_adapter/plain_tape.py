"""A tape that lacks much of what others have: no seed is taken, and gradients that are made None break it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Value:
    """An array whose gradient is there from the start, as zeros."""

    def __init__(self, data: Any, parents: tuple[tuple[Value, Callable[[Any], Any]], ...] = ()) -> None:
        self.data = np.asarray(data)
        self.parents = parents
        self.grad: Any = np.zeros_like(self.data)

    def __mul__(self, other: Value) -> Value:
        return Value(self.data * other.data, ((self, lambda g: g * other.data), (other, lambda g: g * self.data)))

    def __add__(self, other: Value) -> Value:
        return Value(self.data + other.data, ((self, lambda g: g), (other, lambda g: g)))

    def backward(self) -> None:
        """Send ones to every leaf, path by path."""
        self.sent(np.ones_like(self.data))

    def sent(self, cotangent: Any) -> None:
        """Take a cotangent, and send it on."""
        if not self.parents:
            self.grad = self.grad + cotangent
        for parent, send in self.parents:
            parent.sent(send(cotangent))
