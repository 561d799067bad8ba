"""A badge of a report: data for an endpoint of https://shields.io, or an SVG image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Any, Final

from refgrad.grading.judging.verdict import Totals
from refgrad.native.text import plain_line
from refgrad.report.document import Report

LONGEST: Final = 60
"""Largest number of characters of a label."""

COLORS: Final[Mapping[str, str]] = MappingProxyType({
    "brightgreen": "#3a8a1f",
    "orange": "#b35c00",
    "red": "#c0332b",
    "lightgrey": "#666",
})
"""Colors on which white text is legible, by the names of colors at shields.io."""

CHARACTER: Final = 6.6
"""Width of a character in pixels. The text is stretched to the width that follows from it, whatever the font."""

PICTURE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {message}">
<title>{label}: {message}</title>
<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{color}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{label_at}" y="14" textLength="{label_wide}">{label}</text>
<text x="{message_at}" y="14" textLength="{message_wide}">{message}</text>
</g></svg>
"""


@dataclass(frozen=True, slots=True)
class Badge:
    """Two short texts, and the name of a color."""

    label: str
    message: str
    color: str

    @classmethod
    def of(cls, report: Report) -> Badge:
        """Return the badge of a report: the number of applicable checks that fail at level MUST; green if none does."""
        engine, summary = report.engine, report.summary
        label = plain_line(f"refgrad: {engine['name']} {engine['version']}", LONGEST)
        totals, run = Totals.of(report.verdicts), len(report.verdicts)
        if totals.must_failed:
            silent = any(name.startswith("wrong ") and name != "wrong error" for name in summary.get("severities", ()))
            return cls(label, f"{totals.must_failed} of {totals.apply} checks fail", "red" if silent else "orange")
        if not report.complete:
            return cls(label, f"{run} of {summary['checks']} checks run", "lightgrey")
        return cls(label, f"{totals.apply} checks, none fails", "brightgreen")

    def endpoint(self) -> dict[str, Any]:
        """Return the data that shields.io reads."""
        return {"schemaVersion": 1, "label": self.label, "message": self.message, "color": self.color}

    def picture(self) -> str:
        """Return the badge as SVG, which loads and runs nothing."""
        label_wide, message_wide = (round(CHARACTER * len(text)) for text in (self.label, self.message))
        left, right = label_wide + 10, message_wide + 10
        return PICTURE.format(
            label=escape(self.label), message=escape(self.message), color=COLORS[self.color],
            left=left, right=right, width=left + right, label_at=left / 2, message_at=left + right / 2,
            label_wide=label_wide, message_wide=message_wide,
        )  # fmt: skip
