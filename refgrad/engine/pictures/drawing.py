"""Drawings of a recorded graph: source text for Graphviz, and SVG for notebooks and pages."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from shutil import which
from types import MappingProxyType
from typing import Any

from refgrad.engine import errors
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.pictures.inspection import Entry, Graph, State, graph_of
from refgrad.engine.pictures.svg import svg_of

LIMIT = 1000

# The fill colour of each state, and its description in the legend.
COLOURS: Mapping[State, tuple[str, str]] = MappingProxyType({
    "leaf": ("#c8e6c9", "leaf: gradients arrive here"),
    "constant": ("#ffffff", "constant: no gradient"),
    "saved": ("#bbdefb", "saved values for backward"),
    "saves nothing": ("#eceff1", "needs no saved values"),
    "freed": ("#ffe0b2", "freed: cannot be walked again"),
    "overwritten": ("#ffcdd2", "a saved value was overwritten"),
})


def draw(tensor: Tensor, limit: int = LIMIT) -> Drawing:
    """Return a drawing of the graph of ``tensor``; notebooks display it automatically.

    Arrows point in the direction in which gradients flow. Raises ValueError if there are more than ``limit`` nodes,
    since such a drawing is not readable.
    """
    graph = graph_of(tensor)
    if len(graph.entries) > limit:
        raise ValueError(errors.TOO_LARGE_TO_DRAW.format(count=len(graph.entries), limit=limit))
    return Drawing(tuple(_boxes(graph)), tuple(_arrows(graph)), graph.summary())


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of lines of text."""

    lines: tuple[str, ...]
    state: State


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two boxes, given by index; ``times`` is the number of arguments that it stands for."""

    start: int
    end: int
    times: int


@dataclass(frozen=True)
class Drawing:
    """A graph as boxes and arrows. ``dot`` is text for Graphviz, ``svg`` a picture."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    summary: str

    @cached_property
    def dot(self) -> str:
        """The graph, with a legend, in the DOT language of Graphviz."""
        lines = ["digraph graph_of_tensor {", *_settings(self.summary)]
        lines += [f"  n{i} [label={_label(box.lines)}, {_look(box.state)}]" for i, box in enumerate(self.boxes)]
        lines += [f"  n{a.start} -> n{a.end}{_times(a)}" for a in self.arrows]
        lines += ["  subgraph cluster_legend {", '    label="legend"']
        lines += [
            f"    legend{i} [label={_label((text,))}, {_look(state)}]" for i, (state, text) in enumerate(self.legend)
        ]
        return "\n".join([*lines, "  }", "}", ""])

    @property
    def legend(self) -> list[tuple[State, str]]:
        """The states that occur, with their descriptions."""
        present = {box.state for box in self.boxes}
        return [(state, text) for state, (_, text) in COLOURS.items() if state in present]

    @cached_property
    def svg(self) -> str:
        """The picture, laid out by Graphviz if that is installed, otherwise by igraph.

        Raises:
            RuntimeError: neither is installed.

        """
        program = which("dot")
        if program is None:
            return svg_of(self.boxes, self.arrows, self.legend, self.summary, colours=_fills())
        done = subprocess.run([program, "-Tsvg"], input=self.dot, capture_output=True, text=True, check=True)  # noqa: S603 (found by which, and its input is text)
        return done.stdout[done.stdout.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.summary}


def _fills() -> dict[str, str]:
    return {state: colour for state, (colour, _) in COLOURS.items()}


def _boxes(graph: Graph) -> Iterable[Box]:
    for entry in graph.entries:
        yield Box((entry.title, entry.form, *entry.notes), entry.state)
    yield from (Box(("constant",), "constant") for entry in graph.entries for a in entry.arguments if a is None)


def _arrows(graph: Graph) -> Iterable[Arrow]:
    """Yield the arrows from every entry to its arguments; every constant has a box of its own."""
    constants = iter(range(len(graph.entries), len(graph.entries) + _constants(graph.entries)))
    for start, entry in enumerate(graph.entries):
        ends = Counter(next(constants) if argument is None else argument for argument in entry.arguments)
        yield from (Arrow(start, end, times) for end, times in ends.items())


def _constants(entries: Iterable[Entry]) -> int:
    return sum(argument is None for entry in entries for argument in entry.arguments)


def _settings(summary: str) -> list[str]:
    return [
        f"  graph [rankdir=TB, fontname=Helvetica, label={_label((summary,))}]",
        "  node [shape=box, style=filled, fontname=Helvetica, fontsize=11]",
        "  edge [fontname=Helvetica, fontsize=10]",
    ]


def _look(state: State) -> str:
    dashed = ', style="filled,dashed"' if state in {"freed", "constant"} else ""
    return f'fillcolor="{COLOURS[state][0]}"{dashed}'


def _label(lines: Iterable[str]) -> str:
    quoted = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(quoted) + '"'


def _times(arrow: Arrow) -> str:
    return f' [label="{arrow.times} times"]' if arrow.times > 1 else ""
