"""Curves of time and memory over sizes in inline SVG, from ``python -m refgrad.report.measured.growth``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from refgrad.documents import read_json
from refgrad.report.document import ReportError

FOLDER: Final = "growth"
LEFT, TOP, WIDTH, HEIGHT, NAMES = 58.0, 14.0, 260.0, 180.0, 112.0  # in pixels
STYLES: Final = 6
"""Number of styles, by colour and dashes, that lines have in turn. Each line also has its name at its end."""

LEAST_BYTES: Final = 100_000.0
"""Smallest height of a plot of memory, in bytes. The memory that caches hold is a flat line in it."""

TICK: Final = 14.0
"""Smallest distance between the names of two lines, in pixels."""

TEXT: Final = Markup('<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{text}</text>')
GRID: Final = Markup('<path class="grid" d="M{x:.1f} {y:.1f} L{end:.1f} {bottom:.1f}"/>')
CURVE: Final = Markup('<g class="curve curve-{style}"><title>{title}</title><path d="{path}"/>{points}</g>')
POINT: Final = Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
PLOT: Final = Markup(
    '<svg class="plot" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    'height="{height:.0f}">{inside}</svg>'
)


@dataclass(frozen=True, slots=True)
class Curve:
    """The measurements of an engine in a check: seconds by size, or bytes by iterations."""

    engine: str
    style: int
    verdict: str
    points: tuple[tuple[float, float], ...]
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
    paths = sorted((folder / FOLDER).glob("*.json"))
    for number, each in enumerate(each for path in paths for each in read_json(path, "growth", ReportError)):
        title = f"{each['engine']} {each['version']}"
        for row in each["curves"]:
            points = tuple((size, measured) for size, measured in row["points"])
            curve = Curve(title, number % STYLES, row["verdict"], points, row.get("exponent"))
            plots.setdefault((row["check"], row["of"]), []).append(curve)
    return [Plot(check, of, tuple(curves)) for (check, of), curves in plots.items()]


def drawn(plot: Plot) -> Markup:
    """Return a plot as SVG: time has logarithmic scales, and memory linear ones, relative to the first round."""
    shown = [curve for curve in plot.curves if curve.points]
    axes = (_time_axes if plot.of == "time" else _memory_axes)([_from_first(plot, curve) for curve in shown])
    inside = axes.drawn()
    for curve, y in zip(shown, _apart([axes.y(_from_first(plot, curve)[-1][1]) for curve in shown]), strict=True):
        points = [(axes.x(size), axes.y(each)) for size, each in _from_first(plot, curve)]
        inside += CURVE.format(
            style=curve.style, title=curve.engine, path="M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points),
            points=Markup().join(POINT.format(x=x, y=y) for x, y in points),
        )  # fmt: skip
        inside += TEXT.format(kind="end", x=LEFT + WIDTH + 8, y=y + 4, text=curve.engine[:18])
    label = f"{plot.check}: {plot.of} of {', '.join(curve.engine for curve in shown)}"
    return PLOT.format(label=label, width=LEFT + WIDTH + NAMES, height=TOP + HEIGHT + 34, inside=inside)


def _from_first(plot: Plot, curve: Curve) -> tuple[tuple[float, float], ...]:
    """Return the points of a curve. Memory is relative to the first point."""
    first = curve.points[0][1] if plot.of == "memory" else 0.0
    return tuple((size, each - first) for size, each in curve.points)


@dataclass(frozen=True, slots=True)
class _Axes:
    """Two scales, each with a lower end, an upper end, and the labels of its lines by position."""

    across: tuple[float, float, Mapping[float, str]]
    up: tuple[float, float, Mapping[float, str]]
    logarithmic: bool

    def x(self, number: float) -> float:
        return LEFT + WIDTH * self._share(number, *self.across[:2])

    def y(self, number: float) -> float:
        return TOP + HEIGHT * (1 - self._share(number, *self.up[:2]))

    def _share(self, number: float, low: float, high: float) -> float:
        if self.logarithmic:
            number, low, high = (math.log10(max(each, 1e-12)) for each in (number, low, high))
        return min(max((number - low) / (high - low), 0.0), 1.0)

    def drawn(self) -> Markup:
        """Return the lines of the scales, with their labels."""
        bottom, shown = TOP + HEIGHT, Markup()
        for number, said in self.up[2].items():
            shown += GRID.format(x=LEFT, y=self.y(number), end=LEFT + WIDTH, bottom=self.y(number))
            shown += TEXT.format(kind="name", x=LEFT - 8, y=self.y(number) + 4, text=said)
        for number, said in self.across[2].items():
            shown += GRID.format(x=self.x(number), y=TOP, end=self.x(number), bottom=bottom)
            shown += TEXT.format(kind="below", x=self.x(number), y=bottom + 18, text=said)
        return shown


def _time_axes(curves: Sequence[Sequence[tuple[float, float]]]) -> _Axes:
    sizes, times = ([point[part] for points in curves for point in points] for part in (0, 1))
    across = {10.0**power: f"{10**power:,}" for power in _powers(sizes)}
    up = {10.0**power: _seconds(power) for power in _powers(times)}
    return _Axes((min(across), max(across), across), (min(up), max(up), up), logarithmic=True)


def _memory_axes(curves: Sequence[Sequence[tuple[float, float]]]) -> _Axes:
    sizes, held = ([point[part] for points in curves for point in points] for part in (0, 1))
    high = max(*held, LEAST_BYTES) if held else LEAST_BYTES
    across = {number: f"{number:,.0f}" for number in (0.0, max(sizes, default=1.0))}
    up = {high * share: f"{high * share / 1000:,.0f} kB" for share in (0.0, 0.25, 0.5, 0.75, 1.0)}
    return _Axes((0.0, max(across), across), (0.0, high, up), logarithmic=False)


def _powers(numbers: Sequence[float]) -> range:
    """Return the exponents of the powers of ten that enclose the numbers, at least two."""
    exponents = [math.log10(max(number, 1e-9)) for number in numbers] or [0.0]
    low = math.floor(min(exponents))
    return range(low, max(math.ceil(max(exponents)), low + 1) + 1)


def _seconds(power: int) -> str:
    unit, scale = next(
        (unit, scale) for unit, scale in (("s", 0), ("ms", -3), ("µs", -6), ("ns", -9)) if power >= scale
    )
    return f"{10 ** (power - scale)} {unit}"


def _apart(heights: Sequence[float]) -> list[float]:
    """Return heights near the given ones, in their order, with space for a name at each."""
    placed, last = dict[int, float](), -math.inf
    for number in sorted(range(len(heights)), key=lambda number: heights[number]):
        last = placed[number] = max(heights[number], last + TICK)
    beyond = max(last - TOP - HEIGHT, 0.0)
    return [placed[number] - beyond for number in range(len(heights))]
