"""How can a sweep give the right gradients and still not cope with size? Each function replaces ``sweep.reachable``.

They find the nodes that lead to some nodes, in the order of recording, as that one does.
"""

from __future__ import annotations

from collections.abc import Collection

from refgrad.engine.graph.node import GraphNode
from refgrad.engine.graph.sweep import by_number, reachable


def by_recursion(roots: Collection[GraphNode]) -> list[GraphNode]:
    """Visit by a function that calls itself."""
    gradients: set[GraphNode] = set()

    def visit(node: GraphNode) -> None:
        if node not in gradients:
            gradients.add(node)
            for parent in node.parents:
                visit(parent)

    for root in roots:
        visit(root)
    return sorted(gradients, key=by_number)


def by_lookup_in_a_list(roots: Collection[GraphNode]) -> list[GraphNode]:
    """Look in a list, from its beginning, whether a node was met before."""
    gradients = list(roots)
    for node in gradients:
        for parent in node.parents:
            if all(parent is not other for other in gradients):
                gradients.append(parent)
    return sorted(gradients, key=by_number)


def by_every_path(roots: Collection[GraphNode]) -> list[GraphNode]:
    """Follow every path, and leave out what was met twice only at the end."""
    met = list(roots)
    for node in met:
        met.extend(node.parents)
    return sorted(set(met), key=by_number)


class WithALog:
    """Writes down what was walked from an output, and counts all of it each time."""

    def __init__(self) -> None:
        self.output: GraphNode | None = None
        self.log: list[list[GraphNode]] = []

    def __call__(self, roots: Collection[GraphNode]) -> list[GraphNode]:
        """Find the nodes."""
        (output,) = roots
        if output is not self.output:
            self.output, self.log = output, []
        gradients = reachable(roots)
        self.log.append(gradients)
        assert sum(1 for walked in self.log for node in walked if node.number >= 0)
        return gradients
