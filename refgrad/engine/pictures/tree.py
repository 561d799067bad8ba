"""A recorded graph as a tree for terminals, whose root is the tensor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TextIO

from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.pictures.inspection import Entry, Graph, graph_of

LIMIT = 200


def print_graph(tensor: Tensor, limit: int | None = LIMIT, file: TextIO | None = None) -> None:
    """Print what led to ``tensor``: see :func:`graph_text`."""
    (file or sys.stdout).write(graph_text(tensor, limit) + "\n")


def graph_text(tensor: Tensor, limit: int | None = LIMIT) -> str:
    """Return the tree of what led to ``tensor``, a line a node, with a summary in the last line.

    A line has the node's name and number (in the order of recording), the form of its output, and what it saved or
    that it was freed; for a leaf, its gradient. Below stand its arguments: a single one in the same column, several
    as branches. What is used several times is shown once and named after that. After ``limit`` lines the rest is
    counted (None shows all).
    """
    graph = graph_of(tensor)
    lines: list[str] = []
    for line in _lines(graph):
        if limit is not None and len(lines) >= limit:
            lines.append(f"… more than {limit:,} lines: print_graph(tensor, limit=None) shows all")
            break
        lines.append(line)
    return "\n".join([*lines, graph.summary()])


def _lines(graph: Graph) -> Iterator[str]:
    """Walk depth first, with a stack of what is still to be shown: where, behind what, in front of what."""
    shown: set[int] = set()
    waiting: list[tuple[int | None, str, str]] = [(graph.root, "", "")]
    while waiting:
        position, before, below = waiting.pop()
        if position is None:
            yield f"{before}constant"
            continue
        entry = graph.entries[position]
        if position in shown:
            yield f"{before}{entry.title}, shown above"
            continue
        shown.add(position)
        yield f"{before}{_described(entry)}"
        waiting += reversed(_branches(entry, below))


def _branches(entry: Entry, below: str) -> list[tuple[int | None, str, str]]:
    if len(entry.arguments) == 1:
        return [(entry.arguments[0], below, below)]
    last = len(entry.arguments) - 1
    return [
        (argument, f"{below}{'└─ ' if i == last else '├─ '}", f"{below}{'   ' if i == last else '│  '}")
        for i, argument in enumerate(entry.arguments)
    ]


def _described(entry: Entry) -> str:
    return f"{entry.title}  {entry.form}  {'; '.join(entry.notes)}"
