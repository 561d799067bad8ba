"""Sweeps that go wrong where a result is used more than once; the smallest graphs that show it have three operators."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.sweeps.sweep_faults import BreadthFirst, CountsAnOperandOnce, KeepsTheLast, Recurses
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape, Tensor


class Late(Tape):
    """What arrives at a node that was served already is lost."""

    def send(self, pending: dict[Node, Array], parent: Node, contribution: Array) -> None:
        if parent in pending or parent not in self.served:
            super().send(pending, parent, contribution)

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        self.served.add(node)
        return super().contributions(node, cotangent)

    def __init__(self) -> None:
        self.served: set[Node] = set()


class PreOrder(Late):
    """Serves a node when it is first seen, operands from left to right."""

    def order(self, root: Node) -> Iterable[Node]:
        nodes: dict[Node, None] = {}
        self.visit(root, nodes)
        return [*nodes, *self.leaves(nodes)]

    def visit(self, node: Node, nodes: dict[Node, None]) -> None:
        if node.operator is not None and node not in nodes:
            nodes[node] = None
            for parent in self.turned(node.parents):
                if parent is not None:
                    self.visit(parent, nodes)

    def turned(self, parents: tuple[Node | None, ...]) -> Iterable[Node | None]:
        return parents

    def leaves(self, nodes: Iterable[Node]) -> Iterable[Node]:
        found = [parent for node in nodes for parent in node.parents if parent is not None and parent.operator is None]
        return dict.fromkeys(found)


class PreOrderFromTheRight(PreOrder):
    """The same from right to left."""

    def turned(self, parents: tuple[Node | None, ...]) -> Iterable[Node | None]:
        return reversed(parents)


class OldestFirst(PreOrder):
    """Serves the output, and then results in the order in which they were made."""

    def order(self, root: Node) -> Iterable[Node]:
        nodes = list(super().order(root))
        made = [node for node in Tape.order(self, root) if node.operator is not None and node is not root]
        return [root, *reversed(made), *(node for node in nodes if node.operator is None and node is not root)]


class NearestFirst(PreOrder):
    """Serves nodes by their shortest distance from the output."""

    def order(self, root: Node) -> Iterable[Node]:
        distance = {root: 0}
        for node in (level := [root]):
            for parent in node.parents:
                if parent is not None and parent not in distance:
                    distance[parent] = distance[node] + 1
                    level.append(parent)
        return sorted(distance, key=lambda node: (node.operator is None, distance[node]))


class ByValue(Late):
    """Takes nodes of the same numbers for one node."""

    def key(self, node: Node) -> Any:
        return node.array.tobytes()

    def order(self, root: Node) -> Iterable[Node]:
        seen: set[Any] = set()
        for node in list(super().order(root)):
            if self.key(node) not in seen:
                seen.add(self.key(node))
                yield node


class ByOperatorAndValue(ByValue):
    """Takes results of the same operator and the same numbers for one node."""

    def key(self, node: Node) -> Any:
        return node.operator and node.operator.name, node.array.tobytes()


class ByOperator(ByValue):
    """Takes all results of one operator for one node."""

    def key(self, node: Node) -> Any:
        return node if node.operator is None else node.operator.name


class ByHash(ByValue):
    """Takes nodes for one whose sums have the same hash."""

    def key(self, node: Node) -> Any:
        return hash(float(node.array.sum())) % 64


class ServesAgain(Tape):
    """Serves a node each time that it is reached, with all that has arrived so far."""

    def backward(self, output: Tensor, seed: Array | None = None, *, retain_graph: bool = False) -> None:  # noqa: ARG002
        root = self.root(output)
        totals, waiting = {root: self.seed(root, seed)}, [root]
        while waiting:
            node = waiting.pop(0)
            if node.operator is not None:
                for parent, contribution in self.contributions(node, totals[node]):
                    self.send(totals, parent, contribution)
                    waiting.append(parent)
        for node, total in totals.items():
            if node.operator is None:
                self.deposit(node, total)


class KeepsTheFirst(Tape):
    """Only the first contribution counts."""

    def join(self, total: Array, contribution: Array) -> Array:  # noqa: ARG002
        return total


class KeepsTheLarger(Tape):
    """Only the larger contribution counts."""

    def join(self, total: Array, contribution: Array) -> Array:
        return np.maximum(total, contribution)


class Averages(Tape):
    """Contributions are averaged."""

    def join(self, total: Array, contribution: Array) -> Array:
        return np.asarray((total + contribution) / 2)


class ReplacesAtResults(Tape):
    """``=`` for ``+=`` where a result is used twice; leaves are right."""

    def send(self, pending: dict[Node, Array], parent: Node, contribution: Array) -> None:
        if parent.operator is not None:
            pending.pop(parent, None)
        super().send(pending, parent, contribution)


class ReplacesAtLeaves(Tape):
    """``=`` for ``+=`` where a leaf is used twice; results are right."""

    def send(self, pending: dict[Node, Array], parent: Node, contribution: Array) -> None:
        if parent.operator is None:
            pending.pop(parent, None)
        super().send(pending, parent, contribution)


class CrossesOver(Tape):
    """Each of two operands receives what is the other's."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        return list(super().pull(node, cotangent))[::-1]


class AddsInPlace(Tape):
    """Adds into arrays that a sum has handed to both of its operands."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        return [cotangent, cotangent] if node.operator.name == "add" else super().pull(node, cotangent)

    def fitted(self, share: Array, node: Node, parent: Node) -> Array:  # noqa: ARG002
        return share

    def join(self, total: Array, contribution: Array) -> Array:
        total += contribution
        return total


class HoldsResultsWeakly(Tape):
    """Forgets a result that nobody holds: one that is nested in an expression."""

    def __init__(self) -> None:
        self.alive: dict[Node, weakref.ref[Any]] = {}

    def apply(self, operator: Operator, *operands: Any, **attributes: Any) -> Tensor:
        made = super().apply(operator, *operands, **attributes)
        held = Held(made.array, made.node)
        if held.node is not None:
            self.alive[held.node] = weakref.ref(held)
        return held

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        for parent, share in super().contributions(node, cotangent):
            alive = parent.operator is None or self.alive[parent]() is not None
            yield parent, share if alive else np.zeros_like(share)


class Held(Tensor):
    """A tensor that can be held weakly."""


ORDER_FAULTS: Final[tuple[type[Tape], ...]] = (
    PreOrder, PreOrderFromTheRight, OldestFirst, NearestFirst, BreadthFirst, Recurses, ServesAgain,
    ByValue, ByOperatorAndValue, ByOperator, ByHash, CountsAnOperandOnce, KeepsTheLast, KeepsTheFirst,
    KeepsTheLarger, Averages, ReplacesAtResults, ReplacesAtLeaves, CrossesOver, AddsInPlace, HoldsResultsWeakly,
)  # fmt: skip
