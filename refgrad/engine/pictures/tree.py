"""A recorded graph as text: a tree whose root is the tensor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TextIO

from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.pictures.inspection import Entry, Graph, graph_of

LIMIT = 200


def print_graph(tensor: Tensor, limit: int | None = LIMIT, file: TextIO | None = None) -> None:
    """Print the graph of ``tensor``: see :func:`graph_text`."""
    (file or sys.stdout).write(graph_text(tensor, limit) + "\n")


def graph_text(tensor: Tensor, limit: int | None = LIMIT) -> str:
    """Return the graph of ``tensor`` as a tree, with one line per node and a summary in the last line.

    A line has the node's name and number (in the order of recording), the dtype and shape of its output, and the values
    that it saved or that they were freed; for a leaf, its gradient. Its arguments are below it: a single one in the
    same column, several as branches. A node that is used several times is printed in full once, and by name after that.
    At most ``limit`` lines of nodes are printed (None prints all).
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
    """Yield the lines of a depth-first traversal.

    The stack holds, for each pending argument, its index, the prefix of its line, and the prefix of the lines below it.
    """
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
