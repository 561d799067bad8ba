"""Pictures as inline SVG: graphs of scenarios, and time and memory over sizes as curves; and errors in ulps."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from refgrad.documents import read_json
from refgrad.errors import UserError
from refgrad.native.text import plain_line
from refgrad.report import CHARACTERS, ITEMS
from refgrad.report.document import ReportError
from refgrad.report.pages import templates
from refgrad.scenario import Apply, Backward, Grad, Jvp, Leaf, Step, parse

ACCURACY: Final = "accuracy"
GROWTH: Final = "growth"
"""Folder of the measurements of ``refgrad accuracy --json``, and that of ``tests.report.measured.growth``."""

DECADES: Final = sys.float_info.dig + 1
"""Length of a bar, in powers of ten. An error that fills it leaves no digit of a double right."""

LEAST_BYTES: Final = 100_000.0
"""Smallest height of a plot of memory, in bytes. The memory that caches hold is a flat line in it."""

Points = Sequence[tuple[float, float]]
Ticks = Mapping[float, str]


@cache
def _templates() -> Environment:
    return templates("refgrad.report.site", autoescape=True)


def _picture(template: str, **values: Any) -> Markup:
    """Return a picture as SVG, whose template says where its parts are. Texts are escaped."""
    return Markup(_templates().get_template(template).render(**values))  # noqa: S704 (our own template)


def read_accuracy(folder: Path) -> list[dict[str, Any]]:
    """Read the largest errors in the files ``accuracy/*.json`` of the folder of the reports, largest first.

    Raises ReportError for a file with other content.
    """
    return [
        {name: each[name] for name in ("engine", "version", "dtype")}
        | {"worst": sorted(map(_with_bar, each["worst"]), key=lambda row: -row["ulps"])[: ITEMS["bars"]]}
        for path in sorted((folder / ACCURACY).glob("*.json"))
        for each in read_json(path, "accuracy", ReportError)
    ]


def _with_bar(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "bar": min(math.log10(max(row["ulps"], 1.0)), DECADES) / DECADES}


@dataclass(frozen=True, slots=True)
class Curve:
    """The measurements of an engine, which has a number, in a check: seconds by size, or bytes by iterations."""

    engine: str
    number: int
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
            curve = Curve(title, number, row["verdict"], points, row.get("exponent"))
            plots.setdefault((row["check"], row["of"]), []).append(curve)
    return [Plot(check, of, tuple(curves)) for (check, of), curves in plots.items()]


def drawn(plot: Plot) -> Markup:
    """Return a plot as SVG: time has logarithmic scales, and memory linear ones, relative to the first round.

    The names of the curves are beside them, in the order of their last points.
    """
    curves = [(curve, _relative(plot, curve.points)) for curve in plot.curves if curve.points]
    ranks = sorted(range(len(curves)), key=lambda number: -curves[number][1][-1][1])
    sizes, heights = ([point[part] for _, points in curves for point in points] for part in (0, 1))
    timed = plot.of == "time"
    across, up = (_decades(sizes, _count), _decades(heights, _seconds)) if timed else _linear(sizes, heights)
    return _picture(
        "plot.svg.jinja", plot=plot, across=across, up=up, x_share=partial(_share, ticks=across, logarithmic=timed),
        y_share=partial(_share, ticks=up, logarithmic=timed),
        curves=[(curve, points, 1 + ranks.index(number)) for number, (curve, points) in enumerate(curves)],
    )  # fmt: skip


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
    starts = {step.output for step in steps if isinstance(step, Backward | Grad)}
    boxes = {box.name: box for step in steps if (box := _box(step, starts, subject)) is not None}
    if not 0 < len(boxes) <= ITEMS["tensors"]:
        return Markup()
    rows = dict[str, int]()
    for box in boxes.values():
        rows[box.name] = 1 + max((rows.get(source, -1) for source in box.sources), default=-1)
    label = f"The graph of {len(boxes)} tensors: " + ", ".join(box.label for box in boxes.values())
    label = plain_line(label, CHARACTERS["drawing"])
    return _picture("graph.svg.jinja", boxes=boxes, rows=rows, columns=_columns(rows), label=label)


def _box(step: Step, starts: set[str], subject: str) -> TensorBox | None:
    """Return the box of the tensor that a step defines, or None if it defines none."""
    match step:
        case Leaf(name=name, requires_grad=moves):
            label, kind, sources = "leaf", "leaf" if moves else "constant", tuple[str, ...]()
        case Apply(name=name, operator=label, arguments=sources):
            kind = "result"
        case Grad(name=name, output=output, leaf=leaf):
            label, kind, sources = f"grad of {output} by {leaf}", "derivative", (output, leaf)
        case Jvp(name=name, output=output):
            label, kind, sources = f"jvp of {output}", "derivative", (output,)
        case _:
            return None
    marks = [kind, *(["walked"] if name in starts else []), *(["subject"] if name == subject else [])]
    title = plain_line(step.to_text(), CHARACTERS["tooltip"])
    return TensorBox(name, plain_line(f"{name} = {label}", CHARACTERS["tensor"]), title, " ".join(marks), sources)


def _columns(rows: Mapping[str, int]) -> dict[str, float]:
    """Return the columns of tensors in a grid, in which each row is in the middle."""
    lengths, taken, columns = Counter(rows.values()), Counter[int](), dict[str, float]()
    for name, row in rows.items():
        columns[name] = taken[row] + (max(lengths.values()) - lengths[row]) / 2
        taken[row] += 1
    return columns
