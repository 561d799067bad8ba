"""A backward in pieces that a fault can replace one by one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from refgrad.engine import autograd
from refgrad.engine.graph.node import LAST_WRITE, Contributions, GraphNode, Node
from refgrad.engine.graph.sweep import BackwardPass


class OpenSweep(BackwardPass):
    """The engine's own sweep, which does the same one piece after the other."""

    def run(self, order: list[Any], targets: frozenset[GraphNode], wanted: set[GraphNode] | None = None) -> None:
        """Pass over the nodes of ``order`` from the last to the first."""
        for node in reversed(order):
            cotangent = self.pending.pop(node, None)
            if cotangent is None:
                continue
            if node.watch is not None or node in targets:
                cotangent = self.meet(node, cotangent)
            self.verify(node)
            contributions = self.contributions(node, cotangent)
            self.release(node)
            for parent, contribution in contributions:
                if wanted is None or parent in wanted:
                    self.send(parent, contribution)

    def meet(self, node: Node, cotangent: Any) -> Any:
        """Note the total that arrived where somebody looks, and return what goes on."""
        self.arrived[node] = self.arrival(node, cotangent)
        return self.arrived[node]

    def verify(self, node: Node) -> None:
        """Refuse saved values that are gone."""
        if node.values is None or LAST_WRITE.number > node.number:
            node.check()

    def contributions(self, node: Node, cotangent: Any) -> Contributions:
        """Apply the rule."""
        return node.vjp_recorded(cotangent) if self.recorded else node.vjp(cotangent)

    def release(self, node: Node) -> None:
        """Free what was saved, if anything."""
        if node.values and not self.retain:
            node.values = None

    def send(self, parent: GraphNode, contribution: Any) -> None:
        """Add to what is pending."""
        self.pending[parent] = self.pending[parent] + contribution if parent in self.pending else contribution


def sweeping(kind: type[OpenSweep]) -> Callable[[], AbstractContextManager[Any]]:
    """Return what makes a region in which every backward goes by a sweep of this kind."""
    return lambda: patch.object(autograd, "BackwardPass", kind)
