"""Which mistakes sit in what enters a backward, what it leaves in leaves, and what it frees?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.fault import Fault
from tests.faulty_engines.tape import Array, Node, Tape, Tensor


class IgnoresSeeds(Tape):
    """Every backward starts from ones."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        return np.ones_like(super().seed(root, seed))


class LosesSigns(Tape):
    """Seeds lose their signs."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        return np.abs(super().seed(root, seed))


class BroadcastsSeeds(Tape):
    """A seed of another shape is made to fit."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        shape = root.array.shape
        if seed is not None and seed.shape != shape:
            seed = np.resize(seed, shape)
        return super().seed(root, seed)


class StartsFromOnes(Tape):
    """A backward from a non-scalar needs no seed."""

    def seed(self, root: Node, seed: Array | None) -> Array:
        return np.ones(root.array.shape) if seed is None else super().seed(root, seed)


class StartsAnywhere(Tape):
    """A backward from a constant does nothing, silently."""

    def root(self, output: Tensor) -> Node:
        return Node(output.array) if output.node is None else output.node


class Replaces(Tape):
    """A leaf's gradient is that of the last backward."""

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        leaf.grad = cotangent.copy()


class CannotZero(Tape):
    """A leaf remembers what it was told to forget."""

    def __init__(self) -> None:
        self.totals: dict[Node, Array] = {}

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        leaf.grad = self.totals.get(leaf)
        super().deposit(leaf, cotangent)
        assert leaf.grad is not None
        self.totals[leaf] = leaf.grad


class ZeroesByItself(Tape):
    """A leaf that is used again loses its gradient."""

    def record(self, operator: Operator, tensors: Sequence[Tensor], *result: Any) -> Node:
        for tensor in tensors:
            tensor.zero_grad()
        return super().record(operator, tensors, *result)


class AlwaysFrees(Tape):
    """``retain_graph`` is not looked at."""

    def release(self, node: Node, *, retain_graph: bool) -> None:  # noqa: ARG002
        super().release(node, retain_graph=False)


class NeverFrees(Tape):
    """A second backward goes through, retained or not."""

    def release(self, node: Node, *, retain_graph: bool) -> None:
        """Keep everything."""


class SilentlyZero(Tape):
    """What was freed sends zeros."""

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        if node.values is not None:
            return super().contributions(node, cotangent)
        return [(parent, np.zeros(parent.array.shape)) for parent in node.parents if parent is not None]


class LooksAtTheRoot(Tape):
    """Only the output is asked whether its graph is still there; the rest lives on."""

    def __init__(self) -> None:
        self.freed: set[Node] = set()

    def root(self, output: Tensor) -> Node:
        root = super().root(output)
        if root in self.freed:
            raise RuntimeError("Trying to backward through the graph a second time")
        return root

    def release(self, node: Node, *, retain_graph: bool) -> None:
        if not retain_graph and node.values:
            self.freed.add(node)


class FreesShared(Tape):
    """What two results share is freed, kept graph or not."""

    def __init__(self) -> None:
        self.uses: Counter[Node] = Counter()

    def record(self, operator: Operator, tensors: Sequence[Tensor], *result: Any) -> Node:
        node = super().record(operator, tensors, *result)
        self.uses.update({parent for parent in node.parents if parent is not None})
        return node

    def release(self, node: Node, *, retain_graph: bool) -> None:
        super().release(node, retain_graph=retain_graph and self.uses[node] < 2)


class FreesTooMuch(Tape):
    """Nodes that saved nothing are freed too."""

    def release(self, node: Node, *, retain_graph: bool) -> None:
        if not retain_graph and node.operator is not None:
            node.values = None


LIFECYCLE_FAULTS: tuple[Fault, ...] = (
    Fault("IgnoresSeeds", "", IgnoresSeeds, frozenset()),
    Fault("LosesSigns", "", LosesSigns, frozenset()),
    Fault("BroadcastsSeeds", "", BroadcastsSeeds, frozenset()),
    Fault("StartsFromOnes", "", StartsFromOnes, frozenset()),
    Fault("StartsAnywhere", "", StartsAnywhere, frozenset()),
    Fault("Replaces", "", Replaces, frozenset()),
    Fault("CannotZero", "", CannotZero, frozenset()),
    Fault("ZeroesByItself", "", ZeroesByItself, frozenset()),
    Fault("AlwaysFrees", "", AlwaysFrees, frozenset()),
    Fault("NeverFrees", "", NeverFrees, frozenset()),
    Fault("SilentlyZero", "", SilentlyZero, frozenset()),
    Fault("LooksAtTheRoot", "", LooksAtTheRoot, frozenset()),
    Fault("FreesShared", "", FreesShared, frozenset()),
    Fault("FreesTooMuch", "", FreesTooMuch, frozenset()),
)
