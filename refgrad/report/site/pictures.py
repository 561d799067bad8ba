"""Pictures as inline SVG: graphs of scenarios, and time and memory over sizes as curves; and errors in ulps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from refgrad.documents import read_json
from refgrad.errors import UserError
from refgrad.native.text import plain_line
from refgrad.report.document import ReportError
from refgrad.scenario import Apply, Backward, Grad, Jvp, Leaf, Step, parse

ACCURACY: Final = "accuracy"
GROWTH: Final = "growth"
"""Folder of the measurements of ``refgrad accuracy --json``, and that of ``tests.report.measured.growth``."""

MOST_BARS: Final = 30
DECADES: Final = 16
"""Length of a bar, in powers of ten. An error that fills it leaves no digit of a double right."""

LEFT, TOP, WIDTH, HEIGHT, NAMES = 58.0, 14.0, 260.0, 180.0, 112.0  # in pixels
LINE: Final = 14.0
"""Distance between the names of two curves, in pixels."""

STYLES: Final = 6
"""Number of styles, by colour and dashes, that curves have in turn."""

LEAST_BYTES: Final = 100_000.0
"""Smallest height of a plot of memory, in bytes. The memory that caches hold is a flat line in it."""

TEXT: Final = Markup('<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{text}</text>')
GRID: Final = Markup('<path class="grid" d="M{x:.1f} {y:.1f} L{end:.1f} {bottom:.1f}"/>')
CURVE: Final = Markup('<g class="curve curve-{style}"><title>{title}</title><path d="{path}"/>{points}{name}</g>')
POINT: Final = Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
PLOT: Final = Markup(
    '<svg class="plot" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    'height="{height:.0f}">{inside}</svg>'
)

Points = Sequence[tuple[float, float]]
Ticks = Mapping[float, str]


def read_accuracy(folder: Path) -> list[dict[str, Any]]:
    """Read the largest errors in the files ``accuracy/*.json`` of the folder of the reports, largest first.

    Raises ReportError for a file with other content.
    """
    return [
        {name: each[name] for name in ("engine", "version", "dtype")}
        | {"worst": sorted(map(_row, each["worst"]), key=lambda row: -row["ulps"])[:MOST_BARS]}
        for path in sorted((folder / ACCURACY).glob("*.json"))
        for each in read_json(path, "accuracy", ReportError)
    ]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": f"{row['operator']}: {row['of']}",
        "ulps": row["ulps"],
        "bar": min(math.log10(max(row["ulps"], 1.0)), DECADES) / DECADES,
        "budgets": row["budgets"],
        "at": ", ".join(f"{name} = {number!r}" for name, number in row["at"].items()),
        "seen": row["seen"],
        "truth": row["truth"],
    }


@dataclass(frozen=True, slots=True)
class Curve:
    """The measurements of an engine in a check: seconds by size, or bytes by iterations."""

    engine: str
    style: int
    verdict: str
    points: Points
    exponent: float | None


@dataclass(frozen=True, slots=True)
class Plot:
    """A check, with a curve for each engine."""

    check: str
    of: str
    curves: tuple[Curve, ...]


def read_growth(folder: Path) -> list[Plot]:
    """Read the measurements in the files ``growth/*.json`` of the folder of the reports, if there are any.

    Raises ReportError for a file with other content.
    """
    plots: dict[tuple[str, str], list[Curve]] = {}
    paths = sorted((folder / GROWTH).glob("*.json"))
    for number, each in enumerate(each for path in paths for each in read_json(path, "growth", ReportError)):
        title = f"{each['engine']} {each['version']}"
        for row in each["curves"]:
            points = tuple((size, measured) for size, measured in row["points"])
            curve = Curve(title, number % STYLES, row["verdict"], points, row.get("exponent"))
            plots.setdefault((row["check"], row["of"]), []).append(curve)
    return [Plot(check, of, tuple(curves)) for (check, of), curves in plots.items()]


def drawn(plot: Plot) -> Markup:
    """Return a plot as SVG: time has logarithmic scales, and memory linear ones, relative to the first round.

    The names of the curves are beside them, in the order of their last points.
    """
    shown = [(curve, _relative(plot, curve.points)) for curve in plot.curves if curve.points]
    ranked = sorted(shown, key=lambda each: -each[1][-1][1])
    sizes, heights = ([point[part] for _, points in shown for point in points] for part in (0, 1))
    timed, bottom = plot.of == "time", TOP + HEIGHT
    across, up = (_decades(sizes, _count), _decades(heights, _seconds)) if timed else _linear(sizes, heights)

    def x(number: float) -> float:
        return LEFT + WIDTH * _share(number, across, logarithmic=timed)

    def y(number: float) -> float:
        return bottom - HEIGHT * _share(number, up, logarithmic=timed)

    inside = Markup()
    for number, text in up.items():
        inside += GRID.format(x=LEFT, y=y(number), end=LEFT + WIDTH, bottom=y(number))
        inside += TEXT.format(kind="name", x=LEFT - 8, y=y(number) + 4, text=text)
    for number, text in across.items():
        inside += GRID.format(x=x(number), y=TOP, end=x(number), bottom=bottom)
        inside += TEXT.format(kind="below", x=x(number), y=bottom + 18, text=text)
    for curve, given in shown:
        points = [(x(size), y(each)) for size, each in given]
        line = TOP + LINE * (1 + ranked.index((curve, given)))
        inside += CURVE.format(
            style=curve.style, title=curve.engine, path="M" + " L".join(f"{px:.1f} {py:.1f}" for px, py in points),
            points=Markup().join(POINT.format(x=px, y=py) for px, py in points),
            name=TEXT.format(kind="end", x=LEFT + WIDTH + 8, y=line, text=curve.engine[:18]),
        )  # fmt: skip
    label = f"{plot.check}: {plot.of} of {', '.join(curve.engine for curve, _ in shown)}"
    height = max(bottom + 34, TOP + LINE * (len(shown) + 1))
    return PLOT.format(label=label, width=LEFT + WIDTH + NAMES, height=height, inside=inside)


def _relative(plot: Plot, points: Points) -> Points:
    """Return the points of a curve. Memory is relative to the first point."""
    first = points[0][1] if plot.of == "memory" else 0.0
    return [(size, each - first) for size, each in points]


def _share(number: float, ticks: Ticks, *, logarithmic: bool) -> float:
    """Return where a number is between the first tick and the last one, from 0 to 1."""
    low, high = min(ticks), max(ticks)
    if logarithmic:
        number, low, high = (math.log10(max(each, 1e-12)) for each in (number, low, high))
    return min(max((number - low) / (high - low), 0.0), 1.0)


def _linear(sizes: Sequence[float], held: Sequence[float]) -> tuple[Ticks, Ticks]:
    """Return the ticks of sizes and of bytes, from 0."""
    high = max(*held, LEAST_BYTES) if held else LEAST_BYTES
    up = {high * share: f"{high * share / 1000:,.0f} kB" for share in (0.0, 0.25, 0.5, 0.75, 1.0)}
    return {number: f"{number:,.0f}" for number in (0.0, max(sizes, default=1.0))}, up


def _decades(numbers: Sequence[float], text: Callable[[int], str]) -> Ticks:
    """Return the powers of ten that enclose the numbers, at least two, with a text for each exponent."""
    exponents = [math.log10(max(number, 1e-9)) for number in numbers] or [0.0]
    low = math.floor(min(exponents))
    return {10.0**power: text(power) for power in range(low, max(math.ceil(max(exponents)), low + 1) + 1)}


def _count(power: int) -> str:
    return f"{10**power:,}"


def _seconds(power: int) -> str:
    unit, scale = next(each for each in (("s", 0), ("ms", -3), ("µs", -6), ("ns", -9)) if power >= each[1])
    return f"{10 ** (power - scale)} {unit}"


MOST_NODES: Final = 40
LONGEST_LABEL: Final = 34
LONGEST_TOOLTIP: Final = 300
CHARACTER = 7.4
BOX_HEIGHT, GAP, LAYER, MARGIN = 30.0, 18.0, 68.0, 10.0  # in pixels, as the width of a character

BOX: Final = Markup(
    '<g class="{kind}"><title>{title}</title><rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
    'height="{height:.1f}" rx="6"/><text x="{middle:.1f}" y="{line:.1f}">{label}</text></g>'
)
ARROW: Final = Markup('<path d="M{x:.1f} {y:.1f} C{x:.1f} {bend:.1f} {end:.1f} {bend:.1f} {end:.1f} {below:.1f}"/>')
PICTURE: Final = Markup(
    '<svg class="graph" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    'height="{height:.0f}"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs><g class="arrows">{arrows}</g>{boxes}</svg>'
)


@dataclass(frozen=True, slots=True)
class TensorBox:
    """A tensor: its name, how it is computed, and the tensors that it is computed from."""

    name: str
    label: str
    title: str
    kind: str
    sources: tuple[str, ...]


def graph_of(text: str, subject: str = "") -> Markup:
    """Return the graph of a scenario, with the tensor ``subject`` marked.

    It is empty if the graph is too large, or if there is no scenario or it cannot be read.
    """
    try:
        steps = parse(text).steps if text else ()
    except UserError:
        return Markup()
    walked = {step.output for step in steps if isinstance(step, Backward | Grad)}
    nodes = {node.name: node for node in _nodes(steps, walked, subject)}
    if not 0 < len(nodes) <= MOST_NODES:
        return Markup()
    return _drawn(nodes)


def _nodes(steps: Sequence[Step], walked: set[str], subject: str) -> Iterator[TensorBox]:
    for step in steps:
        made = _made(step)
        if made is None:
            continue
        name, label, kind, sources = made
        marks = [kind, *(["walked"] if name in walked else []), *(["subject"] if name == subject else [])]
        title = plain_line(step.to_text(), LONGEST_TOOLTIP)
        yield TensorBox(name, plain_line(f"{name} = {label}", LONGEST_LABEL), title, " ".join(marks), sources)


def _made(step: Step) -> tuple[str, str, str, tuple[str, ...]] | None:
    """Return the name, label, kind and sources of the tensor that a step defines, or None if it defines none."""
    match step:
        case Leaf(name=name):
            return name, "leaf", "leaf" if step.requires_grad else "constant", ()
        case Apply(name=name, operator=operator, arguments=sources):
            return name, operator, "result", sources
        case Grad(name=name, output=output, leaf=leaf):
            return name, f"grad of {output} by {leaf}", "derivative", (output, leaf)
        case Jvp(name=name, output=output):
            return name, f"jvp of {output}", "derivative", (output,)
    return None


def _drawn(nodes: Mapping[str, TensorBox]) -> Markup:
    """Return the picture: a grid of boxes of one size, each row in the middle."""
    wide = max(len(node.label) for node in nodes.values()) * CHARACTER + 18
    rows, filled, columns = dict[str, int](), Counter[int](), dict[str, int]()
    for node in nodes.values():
        row = rows[node.name] = 1 + max((rows.get(source, -1) for source in node.sources), default=-1)
        columns[node.name] = filled[row]
        filled[row] += 1
    widest, boxes, arrows = max(filled.values()), Markup(), Markup()

    def place(name: str) -> tuple[float, float]:
        column = columns[name] + (widest - filled[rows[name]]) / 2
        return MARGIN + wide / 2 + column * (wide + GAP), MARGIN + rows[name] * LAYER

    for node in nodes.values():
        x, y = place(node.name)
        boxes += BOX.format(
            kind=node.kind, title=node.title, left=x - wide / 2, top=y, width=wide, height=BOX_HEIGHT, middle=x,
            line=y + BOX_HEIGHT * 0.66, label=node.label,
        )  # fmt: skip
        for start, top in (place(source) for source in node.sources if source in nodes):
            arrows += ARROW.format(x=start, y=top + BOX_HEIGHT, bend=(top + BOX_HEIGHT + y) / 2, end=x, below=y)
    label = f"The graph of {len(nodes)} tensors: " + ", ".join(node.label for node in nodes.values())
    width, height = 2 * MARGIN + widest * (wide + GAP) - GAP, 2 * MARGIN + (len(filled) - 1) * LAYER + BOX_HEIGHT
    return PICTURE.format(label=plain_line(label, 600), width=width, height=height, arrows=arrows, boxes=boxes)
