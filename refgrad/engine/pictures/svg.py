"""Boxes and arrows as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from xml.sax.saxutils import escape

from refgrad.engine.pictures.layout import Point, layered

CHARACTER, LINE = 6.6, 15.0  # of the font below, in pixels
GAP_ACROSS, GAP_DOWN, PADDING, MARGIN = 24.0, 44.0, 10.0, 16.0
SWATCH = 14.0


class _Box(Protocol):
    @property
    def lines(self) -> tuple[str, ...]: ...
    @property
    def state(self) -> str: ...


class _Arrow(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def times(self) -> int: ...


HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="11">'
)
MARKER = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)


def svg_of(
    boxes: Sequence[_Box],
    arrows: Sequence[_Arrow],
    legend: Sequence[tuple[str, str]],
    summary: str,
    colours: Mapping[str, str],
) -> str:
    """Return the SVG: the boxes in layers, below them the summary and the legend.

    Raises:
        RuntimeError: igraph is not installed.

    """
    layout = layered(len(boxes), [(arrow.start, arrow.end) for arrow in arrows])
    grid = _Grid(boxes)
    left = min(x for x, _ in layout.places)
    left = min([left, *(x for route in layout.routes for x, _ in route)])
    parts = [
        grid.arrow(arrow, boxes[arrow.end], route, left) for arrow, route in zip(arrows, layout.routes, strict=True)
    ]
    parts += [grid.box(box, place, left, colours) for box, place in zip(boxes, layout.places, strict=True)]
    right = max(x for x, _ in (*layout.places, *(point for route in layout.routes for point in route)))
    bottom = grid.centre((0.0, max(layer for _, layer in layout.places)), left)[1] + grid.height / 2 + GAP_DOWN / 2
    parts += _legend(legend, summary, bottom, colours)
    texts = max(len(text) for text in (summary, *(text for _, text in legend))) * CHARACTER + SWATCH + 6
    width = max((right - left) * grid.across + grid.width, texts) + 2 * MARGIN
    height = bottom + (len(legend) + 1) * (LINE + 4) + MARGIN
    return "\n".join([HEAD.format(width=width, height=height), MARKER, *parts, "</svg>"])


class _Grid:
    """A grid of cells that are as large as the largest box."""

    def __init__(self, boxes: Sequence[_Box]) -> None:
        self.width = max(len(line) for box in boxes for line in box.lines) * CHARACTER + 2 * PADDING
        self.height = max(map(_height, boxes))
        self.across = self.width + GAP_ACROSS
        self.down = self.height + GAP_DOWN

    def centre(self, place: Point, left: float) -> Point:
        """Return the centre of a cell in pixels."""
        column, layer = place
        return MARGIN + self.width / 2 + (column - left) * self.across, MARGIN + self.height / 2 + layer * self.down

    def box(self, box: _Box, place: Point, left: float, colours: Mapping[str, str]) -> str:
        """Return the SVG of a box: a rectangle as large as its lines need, and its text."""
        x, y = self.centre(place, left)
        width = max(map(len, box.lines)) * CHARACTER + 2 * PADDING
        height = _height(box)
        dashed = ' stroke-dasharray="4 3"' if box.state in {"freed", "constant"} else ""
        first = y - height / 2 + PADDING / 2 + 0.75 * LINE
        rectangle = (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="3" fill="{colours[box.state]}" stroke="#455a64"{dashed}/>'
        )
        texts = (
            f'<text x="{x:.1f}" y="{first + i * LINE:.1f}" text-anchor="middle"{_bold(i)}>{escape(line)}</text>'
            for i, line in enumerate(box.lines)
        )
        return "\n".join([f'<g class="{box.state.replace(" ", "-")}">', rectangle, *texts, "</g>"])

    def arrow(self, arrow: _Arrow, end: _Box, route: Sequence[Point], left: float) -> str:
        """Return the SVG of an arrow from the centre of a box, which is drawn over it, to the top edge of another."""
        points = [self.centre(place, left) for place in route]
        (x, y), (end_x, end_y) = points[0], points[-1]
        end_y -= _height(end) / 2
        line = [(x, y), *points[1:-1], (end_x, end_y)]
        path = " L".join(f"{px:.1f} {py:.1f}" for px, py in line)
        drawn = f'<path d="M{path}" fill="none" stroke="#607d8b" marker-end="url(#tip)"/>'
        if arrow.times == 1:
            return drawn
        return f'{drawn}<text x="{end_x + 5:.1f}" y="{end_y - 10:.1f}">{arrow.times} times</text>'


def _height(box: _Box) -> float:
    return len(box.lines) * LINE + PADDING


def _bold(line: int) -> str:
    return "" if line else ' font-weight="bold"'


def _legend(legend: Sequence[tuple[str, str]], summary: str, top: float, colours: Mapping[str, str]) -> list[str]:
    parts = [f'<text x="{MARGIN}" y="{top + LINE:.1f}" font-weight="bold">{escape(summary)}</text>']
    for i, (state, text) in enumerate(legend, 1):
        y = top + i * (LINE + 4)
        parts.append(
            f'<rect x="{MARGIN}" y="{y + 3:.1f}" width="{SWATCH}" height="{SWATCH}" fill="{colours[state]}" '
            f'stroke="#455a64"/><text x="{MARGIN + SWATCH + 6}" y="{y + LINE:.1f}">{escape(text)}</text>'
        )
    return parts
