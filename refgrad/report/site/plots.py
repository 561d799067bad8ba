"""Bars of the largest errors of an engine in inline SVG, in ulps, from ``refgrad accuracy --json``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from refgrad.documents import read_json
from refgrad.report.document import ReportError

FOLDER: Final = "accuracy"
MOST_BARS: Final = 30
LEFT, RIGHT, ROW, BAR = 190.0, 420.0, 22.0, 14.0  # in pixels
DECADES: Final = 16
"""Width of the plot, in powers of ten. An error that fills it leaves no digit of a double right."""

LINE: Final = Markup(
    '<text class="name" x="{name:.0f}" y="{line:.1f}">{label}</text><rect class="{kind}" x="{left:.0f}" y="{top:.1f}" '
    'width="{width:.1f}" height="{height:.0f}"/><text x="{end:.1f}" y="{line:.1f}">{ulps}</text>'
)
PLOT: Final = Markup(
    '<svg class="plot" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    'height="{height:.0f}">{rows}</svg>'
)


def read_accuracy(folder: Path) -> list[dict[str, Any]]:
    """Read the measurements in the files ``accuracy/*.json`` of the folder of the reports, if there are any.

    Raises ReportError for a file with other content.
    """
    return [
        {name: each[name] for name in ("engine", "version", "dtype")} | {"worst": [_row(row) for row in each["worst"]]}
        for path in sorted((folder / FOLDER).glob("*.json"))
        for each in read_json(path, "accuracy", ReportError)
    ]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": f"{row['operator']}: {row['of']}",
        "ulps": row["ulps"],
        "budgets": row["budgets"],
        "at": ", ".join(f"{name} = {number!r}" for name, number in row["at"].items()),
        "seen": row["seen"],
        "truth": row["truth"],
    }


def worst(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the largest errors, largest first."""
    rows: list[dict[str, Any]] = sorted(document["worst"], key=lambda row: -row["ulps"])
    return rows[:MOST_BARS]


def plot_of(rows: Sequence[Mapping[str, Any]], title: str) -> Markup:
    """Return a bar for each error, on a logarithmic scale. Errors that rounding does not explain are marked."""
    shown = Markup()
    for number, row in enumerate(rows):
        width = (RIGHT / DECADES) * min(max(math.log10(max(row["ulps"], 1.0)), 0.05), DECADES)
        top = number * ROW + (ROW - BAR) / 2
        shown += LINE.format(
            name=LEFT - 8, line=top + BAR - 3, label=row["name"][:28], kind="odd" if row["budgets"] > 4 else "fair",  # noqa: PLR2004 (what the page of accuracy has, too)
            left=LEFT, top=top, width=width, height=BAR, end=LEFT + width + 6, ulps=f"{row['ulps']:.3g}",
        )  # fmt: skip
    return PLOT.format(label=title, width=LEFT + RIGHT + 90, height=len(rows) * ROW + 4, rows=shown)
