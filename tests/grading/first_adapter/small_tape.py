"""A library that somebody has just written, for the tests of first adapters: a tape, one wrong slope, odd names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import linalg  # noqa: F401 (a module that is not the library's own)

Array = npt.NDArray[np.float64]


class Node:
    """An array that remembers how to send a cotangent to its parents."""

    def __init__(self, data: Any, parents: tuple[tuple[Node, Callable[[Any], Any]], ...] = ()) -> None:
        self.data = np.asarray(data, dtype=np.float64)
        self.parents = parents
        self.grad: Array | None = None

    def __mul__(self, other: Node) -> Node:
        return Node(self.data * other.data, ((self, lambda g: g * other.data), (other, lambda g: g * self.data)))

    def backward(self, seed: Any = None) -> None:
        """Send the seed to every leaf, path by path."""
        seed = np.ones_like(self.data) if seed is None else seed
        if not self.parents:
            self.grad = seed if self.grad is None else self.grad + seed
        for parent, send in self.parents:
            parent.backward(send(seed))


def exp(x: Node) -> Node:
    """Return the exponential."""
    y = np.exp(x.data)
    return Node(y, ((x, lambda g: g * y),))


def tanh(x: Node) -> Node:
    """Return the hyperbolic tangent, with a wrong slope."""
    y = np.tanh(x.data)
    return Node(y, ((x, lambda g: g * (1 - y)),))


def sign(x: Node) -> Node:
    """Return something else than the table's sign."""
    return Node(-x.data, ((x, lambda g: -g),))


def floor(x: Node) -> Node:
    """Return the floor, through which no gradient comes back."""
    return Node(np.floor(x.data))


def sum(x: Node, dim: Any = None, keepdim: bool = False) -> Node:  # noqa: A001, FBT001, FBT002 (as libraries name it)
    """Return the sum over axes, which PyTorch's words name."""
    y = x.data.sum(axis=dim, keepdims=keepdim)
    axes = range(x.data.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    shape = tuple(1 if at in {a % x.data.ndim for a in axes} else n for at, n in enumerate(x.data.shape))
    return Node(y, ((x, lambda g: np.broadcast_to(g.reshape(shape), x.data.shape)),))
