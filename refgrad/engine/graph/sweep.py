"""The backward pass, which propagates cotangents from the outputs back to the leaves.

It iterates over the recorded nodes in the reverse order of recording, a reverse topological order: when a node is
processed, all nodes that used its output have contributed. Cotangents and saved values are freed during the pass.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import Any

from refgrad.engine import errors
from refgrad.engine.graph.node import LAST_WRITE, GraphNode, Watch
from refgrad.engine.graph.tensor import Tensor

Cotangents = dict[GraphNode, Any]

by_number = attrgetter("number")


def reachable(roots: Collection[GraphNode]) -> list[GraphNode]:
    """Return ``roots`` and all their ancestors, in the order of recording, leaves first."""
    seen = set(roots)
    found = list(seen)
    for node in found:  # the list grows in the loop
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                found.append(parent)
    found.sort(key=by_number)
    return found


def leading_to(targets: Collection[GraphNode], order: list[GraphNode]) -> tuple[set[GraphNode], set[GraphNode]]:
    """Return the nodes from which the targets are reached, and the targets at which the pass ends.

    The former are the targets and those nodes of ``order`` that have a path back to one. The latter are the targets
    without a path back to another target.
    """
    wanted, ends = set(targets), set(targets)
    for node in order:
        if any(parent in wanted for parent in node.parents):
            wanted.add(node)
            ends.discard(node)
    return wanted, ends


class Sweep:
    """A backward pass.

    ``pending`` holds the cotangent so far of every node that is not yet processed, and ``arrived`` the total cotangents
    of leaves, targets and watched nodes. In a ``recorded`` pass cotangents are tensors, otherwise arrays.
    """

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        self.pending = pending
        self.retain = retain
        self.recorded = recorded
        self.arrived: Cotangents = {}
        self.kept: list[tuple[Watch, Tensor]] = []

    def to_leaves(self) -> None:
        """Process all ancestors of the outputs, down to the leaves."""
        order = reachable(self.pending)
        leaves = bisect(order, 0, key=by_number)
        self.run(order[leaves:], frozenset())
        self.arrive(order[:leaves])

    def to_targets(self, targets: Collection[GraphNode]) -> None:
        """Process only the nodes between the outputs and ``targets``."""
        order = reachable(self.pending)
        wanted, ends = leading_to(targets, order)
        self.run([node for node in order if node in wanted and node not in ends], frozenset(targets), wanted)
        self.arrive(ends)

    def run(self, order: list[Any], targets: frozenset[GraphNode], wanted: set[GraphNode] | None = None) -> None:
        """Process the nodes of ``order`` from last to first. Nodes change only in that their saved values are freed.

        Raises:
            RuntimeError: a node needs a saved value that was freed or overwritten.

        """
        pending, retain, recorded = self.pending, self.retain, self.recorded
        for node in reversed(order):
            cotangent = pending.pop(node, None)
            if cotangent is None:
                continue
            if node.watch is not None or (targets and node in targets):
                cotangent = self.arrived[node] = self.arrival(node, cotangent)
            if node.values is None or LAST_WRITE.number > node.number:
                node.check()
            contributions = node.vjp_recorded(cotangent) if recorded else node.vjp(cotangent)
            if node.values and not retain:
                node.values = None
            for parent, contribution in contributions:
                if parent in pending:
                    pending[parent] = pending[parent] + contribution
                elif wanted is None or parent in wanted:
                    pending[parent] = contribution

    def arrive(self, nodes: Iterable[GraphNode]) -> None:
        """Move the pending cotangents of nodes at which the pass ends to ``arrived``."""
        for node in nodes:
            if node in self.pending:
                self.arrived[node] = self.arrival(node, self.pending.pop(node))

    def arrival(self, node: GraphNode, cotangent: Any) -> Any:
        """Return the total cotangent of a node in the dtype of its tensor, after the node's hooks."""
        if cotangent.dtype != node.dtype:  # for speed, rules fit only the shapes of contributions
            cotangent = cotangent.astype(node.dtype)
        return cotangent if node.watch is None else self.observed(node, node.watch, cotangent)

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        """Call the hooks with a copy of the total; return the total, or a copy of what they replace it with."""
        shown = total = cotangent if self.recorded else Tensor(cotangent)
        for hook in list(watch.hooks.values()):
            shown = shown.clone() if shown is total else shown
            answer = hook(shown)
            if answer is None:
                continue
            got, wanted = (answer.shape, answer.dtype), (node.shape, node.dtype)
            if got != wanted:
                raise RuntimeError(errors.grad_mismatch("the gradient that a hook returned", got, wanted))
            shown = total = answer.clone()
        if watch.retains:
            self.kept.append((watch, total))
        return total if self.recorded else total.array
