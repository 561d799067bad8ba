"""How does a cotangent flow from the outputs back to the leaves?

One iterative pass over the recorded nodes in the reverse order of recording, which is a topological order: when a node's turn
comes, everything that used its output has contributed. Cotangents and saved values are released as the pass goes on.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter
from typing import Any

from refgrad.engine import errors
from refgrad.engine.node import LAST_WRITE, AccumulateGrad, GraphNode, Watch, shape_and_dtype
from refgrad.engine.tensor import Tensor, fits

Cotangents = dict[GraphNode, Any]

by_number = attrgetter("number")


def reachable(roots: Collection[GraphNode]) -> list[GraphNode]:
    """All nodes that lead to ``roots``, in the order of recording, leaves first."""
    seen = set(roots)
    found = list(seen)
    for node in found:  # which grows while it is walked
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                found.append(parent)
    found.sort(key=by_number)
    return found


def leading_to(targets: Collection[GraphNode], order: list[GraphNode]) -> set[GraphNode]:
    """Those nodes of ``order`` from which a path leads back to a target, targets included."""
    wanted = set(targets)
    for node in order:
        if any(parent in wanted for parent in node.parents):
            wanted.add(node)
    return wanted


class Sweep:
    """One backward pass.

    ``pending`` holds the total so far for every node whose turn has not come, and the leaves' totals in the end. In a
    ``recorded`` pass cotangents are tensors, else arrays. ``wanted`` limits the pass to some nodes (None: all), and the
    totals of ``targets`` are put into ``found``.
    """

    def __init__(self, pending: Cotangents, *, retain: bool, recorded: bool) -> None:
        self.pending = pending
        self.retain = retain
        self.recorded = recorded
        self.arrived: Cotangents = {}
        self.found: Cotangents = {}
        self.kept: list[tuple[Watch, Tensor]] = []

    def run(self, order: list[GraphNode], targets: Collection[GraphNode] = (), wanted: set[GraphNode] | None = None) -> None:
        """Pass over ``order`` from its end; changes nothing but saved values.

        Raises:
            RuntimeError: a node needs a saved value that was freed or overwritten.

        """
        pending, retain, recorded = self.pending, self.retain, self.recorded
        for node in reversed(order):
            cotangent = pending.pop(node, None)
            if cotangent is None:
                continue
            if node.watch is not None:
                cotangent = self.observed(node, node.watch, cotangent)
            if targets and node in targets:
                self.found[node] = cotangent
            parents = node.parents
            if not parents:
                self.arrived[node] = cotangent
                continue
            if wanted is not None and wanted.isdisjoint(parents):
                continue
            if node.values is None:
                raise RuntimeError(errors.FREED.format(node=node.name()))
            if LAST_WRITE.number > node.number:
                node.check()
            contributions = node.pull_recorded(cotangent) if recorded else node.pull(cotangent)
            if not retain and node.values:
                node.values = None
            for parent, contribution in contributions:
                if parent in pending:
                    pending[parent] = pending[parent] + contribution
                elif wanted is None or parent in wanted:
                    pending[parent] = contribution

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        """Show the total to the hooks of ``node``, and return it, or what they replace it with."""
        tensor = cotangent if self.recorded else Tensor(cotangent.copy())
        for hook in list(watch.hooks.values()):
            answer = hook(tensor)
            if answer is None:
                continue
            if not fits(answer, node.like):
                got, wanted = (answer.shape, answer.dtype), shape_and_dtype(node.like)
                raise RuntimeError(errors.grad_mismatch("the gradient that a hook returned", got, wanted))
            tensor = answer
        if watch.retains:
            self.kept.append((watch, tensor))
        return tensor if self.recorded else tensor.array
