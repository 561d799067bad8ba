"""How small can an engine be that the harness drives? A tape in a few lines, for the harness's own tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from refgrad.native.adapter import TapeAdapter


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


def tiny_adapter(**changes: Any) -> TapeAdapter:
    """Return the adapter of the tiny engine, with some fields changed."""
    fields = {
        "name": "tiny",
        "setup": "from tests.native.tiny_engine import Tiny",
        "leaf": "Tiny({array}, requires_grad={requires_grad})",
        "value": "{x}.data",
        "backward": "{output}.backward({seed})",
        "gradient": "{leaf}.grad",
        "zero_grad": "setattr({leaf}, 'grad', None)",
        "operators": {"add": "{x} + {y}", "multiply": "{x} * {y}"},
        "lacks": frozenset({"error:freed-graph", "error:implicit-seed", "error:seed-shape", "error:no-graph"}),
    }
    return TapeAdapter(**{**fields, **changes})
