"""A recorded graph as text: a tree whose root is the tensor, and a drawing in the DOT language of Graphviz."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from shutil import which
from types import MappingProxyType
from typing import Any, Literal, TextIO

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.node import AccumulateGrad, GraphNode, Node
from refgrad.engine.graph.sweep import reachable
from refgrad.engine.graph.tensor import Tensor

State = Literal["leaf", "constant", "saves nothing", "saved", "freed", "overwritten"]

MOST_DRAWN = 1000
MOST_LINES = 200
KIBI = 1024

# The fill colour of each state, and its description in the legend.
COLOURS: Mapping[State, tuple[str, str]] = MappingProxyType({
    "leaf": ("#c8e6c9", "leaf: gradients arrive here"),
    "constant": ("#ffffff", "constant: no gradient"),
    "saved": ("#bbdefb", "saved values for backward"),
    "saves nothing": ("#eceff1", "needs no saved values"),
    "freed": ("#ffe0b2", "freed: cannot be walked again"),
    "overwritten": ("#ffcdd2", "a saved value was overwritten"),
})


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of an operator or of a leaf.

    ``arguments`` are indices of entries of the graph, None for a constant. ``saved`` maps the identities of the arrays
    that the node keeps for backward to their sizes in bytes.
    """

    title: str
    form: str
    state: State
    arguments: tuple[int | None, ...]
    saved: Mapping[int, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """The graph of a tensor: leaves first, then nodes in the order of recording, the tensor's own entry last.

    ``dot`` is its text in the language of Graphviz.
    """

    entries: tuple[DrawnNode, ...]

    @property
    def summary(self) -> str:
        """Counts of nodes, leaves and saved arrays as text; each saved array is counted once."""
        leaves = sum(entry.state in {"leaf", "constant"} for entry in self.entries)
        saved = {memory: size for entry in self.entries for memory, size in entry.saved.items()}
        freed = sum(entry.state == "freed" for entry in self.entries)
        return (
            f"{_count(len(self.entries) - leaves, 'node', 'nodes')}, {_count(leaves, 'leaf', 'leaves')}, "
            f"{_count(len(saved), 'saved array', 'saved arrays')} of {readable(sum(saved.values()))}"
            + (f", {_count(freed, 'node', 'nodes')} freed" if freed else "")
        )

    @cached_property
    def dot(self) -> str:
        """The graph, with a legend, in the DOT language of Graphviz."""
        boxes: list[tuple[tuple[str, ...], State]] = [
            ((entry.title, entry.form, *entry.notes), entry.state) for entry in self.entries
        ]
        constants, arrows = count(len(boxes)), list[str]()
        for start, entry in enumerate(self.entries):
            ends = Counter(next(constants) if argument is None else argument for argument in entry.arguments)
            arrows += [f"  n{start} -> n{end}{_times(times)}" for end, times in ends.items()]
        boxes += [(("constant",), "constant")] * (next(constants) - len(boxes))
        legend = [(state, text) for state, (_, text) in COLOURS.items() if state in {state for _, state in boxes}]
        return "\n".join([
            "digraph graph_of_tensor {",
            f"  graph [rankdir=TB, fontname=Helvetica, label={_label((self.summary,))}]",
            "  node [shape=box, style=filled, fontname=Helvetica, fontsize=11]",
            "  edge [fontname=Helvetica, fontsize=10]",
            *(f"  n{i} [label={_label(lines)}, {_style(state)}]" for i, (lines, state) in enumerate(boxes)),
            *arrows,
            "  subgraph cluster_legend {",
            '    label="legend"',
            *(f"    legend{i} [label={_label((text,))}, {_style(state)}]" for i, (state, text) in enumerate(legend)),
            "  }",
            "}",
            "",
        ])

    @cached_property
    def svg(self) -> str:
        """The picture that Graphviz makes of ``dot``.

        Raises:
            RuntimeError: Graphviz is not installed.

        """
        program = which("dot")
        if program is None:
            raise RuntimeError(errors.NO_GRAPHVIZ)
        done = subprocess.run([program, "-Tsvg"], input=self.dot, capture_output=True, text=True, check=True)  # noqa: S603 (found by which, and its input is text)
        return done.stdout[done.stdout.index("<svg") :]

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        """Return what notebooks display: the picture, and its text where Graphviz is not installed."""
        return {"image/svg+xml": self.svg} if which("dot") else {"text/plain": f"{errors.NO_GRAPHVIZ}\n\n{self.dot}"}


def draw(tensor: Tensor, limit: int = MOST_DRAWN) -> Drawing:
    """Return a drawing of the graph of ``tensor``; notebooks display it automatically.

    Arrows point in the direction in which gradients flow. Raises ValueError if there are more than ``limit`` nodes,
    since such a drawing is not readable.
    """
    drawing = Drawing(_entries(tensor))
    if len(drawing.entries) > limit:
        raise ValueError(errors.TOO_LARGE_TO_DRAW.format(count=len(drawing.entries), limit=limit))
    return drawing


def print_graph(tensor: Tensor, limit: int | None = MOST_LINES, file: TextIO | None = None) -> None:
    """Print the graph of ``tensor``: see :func:`graph_text`."""
    (file or sys.stdout).write(graph_text(tensor, limit) + "\n")


def graph_text(tensor: Tensor, limit: int | None = MOST_LINES) -> str:
    """Return the graph of ``tensor`` as a tree, with one line per node and a summary in the last line.

    A line has the node's name and number (in the order of recording), the dtype and shape of its output, and the values
    that it saved or that they were freed; for a leaf, its gradient. Its arguments are below it: a single one in the
    same column, several as branches. A node that is used several times is printed in full once, and by name after that.
    At most ``limit`` lines of nodes are printed (None prints all).
    """
    graph = Drawing(_entries(tensor))
    lines: list[str] = []
    for line in _lines(graph.entries):
        if limit is not None and len(lines) >= limit:
            lines.append(f"… more than {limit:,} lines: print_graph(tensor, limit=None) shows all")
            break
        lines.append(line)
    return "\n".join([*lines, graph.summary])


def readable(size: int) -> str:
    """Return a number of bytes as text with a suitable unit, such as KiB."""
    amount, units = float(size), ["B", "KiB", "MiB", "GiB"]
    while amount >= KIBI and len(units) > 1:
        amount, units = amount / KIBI, units[1:]
    return f"{amount:.4g} {units[0]}"


def _entries(tensor: Tensor) -> tuple[DrawnNode, ...]:
    """Return the nodes that backward from ``tensor`` would visit, or one for the tensor itself if it has no graph."""
    if tensor.node is None:
        return (DrawnNode("tensor", _form(tensor.dtype, tensor.shape), "constant", (), {}, ("requires_grad=False",)),)
    order = reachable([tensor.node])
    positions = {node: position for position, node in enumerate(order)}
    leaves = sum(isinstance(node, AccumulateGrad) for node in order)
    return tuple(_entry(node, positions, leaves) for node in order)


def _entry(node: GraphNode, positions: Mapping[GraphNode, int], leaves: int) -> DrawnNode:
    position, form = positions[node], _form(node.dtype, node.shape)
    if isinstance(node, AccumulateGrad):
        grad = "no grad yet" if node.grad is None else f"grad {_form(node.grad.dtype, node.grad.shape)}"
        return DrawnNode(f"leaf {position + 1}", form, "leaf", (), {}, ("requires_grad=True", grad, *_watched(node)))
    state, saved, notes = _saved(node)
    arguments = tuple(None if to is None else positions[to] for to, _ in node.next_functions)
    title = f"{node.name()} #{position + 1 - leaves}"
    return DrawnNode(title, form, state, arguments, saved, (*notes, *_watched(node)))


def _saved(node: Node) -> tuple[State, Mapping[int, int], Sequence[str]]:
    """Return the state of an operator's node, the sizes of the arrays that it saved, and notes on them."""
    if node.values is None:
        return "freed", {}, [f"freed: {', '.join(node.saves)}"]
    sizes, notes, overwritten = dict[int, int](), list[str](), False
    for name, value, guard in zip(node.saves, node.values, node.guards, strict=True):
        sizes[id(value)] = size = int(np.asarray(value).nbytes)
        changed = bool(guard) and guard[1] > node.number
        form = _form(value.dtype, value.shape) if hasattr(value, "dtype") else type(value).__name__
        notes.append(f"saved {name}: {form}, {readable(size)}{', since overwritten' * changed}")
        overwritten |= changed
    return "overwritten" if overwritten else "saved" if notes else "saves nothing", sizes, notes or ["saves nothing"]


def _watched(node: GraphNode) -> tuple[str, ...]:
    watch = node.watch
    if watch is None:
        return ()
    hooks = (_count(len(watch.hooks), "hook", "hooks"),) if watch.hooks else ()
    return (*hooks, "retains grad") if watch.retains else hooks


def _lines(entries: Sequence[DrawnNode]) -> Iterator[str]:
    """Yield the lines of a depth-first traversal.

    The stack holds, for each pending argument, its index, the prefix of its line, and the prefix of the lines below it.
    """
    printed: set[int] = set()
    waiting: list[tuple[int | None, str, str]] = [(len(entries) - 1, "", "")]
    while waiting:
        position, before, below = waiting.pop()
        if position is None:
            yield f"{before}constant"
            continue
        entry = entries[position]
        if position in printed:
            yield f"{before}{entry.title}, shown above"
            continue
        printed.add(position)
        yield f"{before}{entry.title}  {entry.form}  {'; '.join(entry.notes)}"
        waiting += reversed(_branches(entry, below))


def _branches(entry: DrawnNode, below: str) -> list[tuple[int | None, str, str]]:
    if len(entry.arguments) == 1:
        return [(entry.arguments[0], below, below)]
    last = len(entry.arguments) - 1
    return [
        (argument, f"{below}{'└─ ' if i == last else '├─ '}", f"{below}{'   ' if i == last else '│  '}")
        for i, argument in enumerate(entry.arguments)
    ]


def _form(dtype: object, shape: Sequence[int]) -> str:
    """Return a dtype and a shape as text."""
    return f"{dtype}{list(shape)}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _style(state: State) -> str:
    dashed = ', style="filled,dashed"' if state in {"freed", "constant"} else ""
    return f'fillcolor="{COLOURS[state][0]}"{dashed}'


def _label(lines: Iterable[str]) -> str:
    quoted = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(quoted) + '"'


def _times(number: int) -> str:
    return f' [label="{number} times"]' if number > 1 else ""
