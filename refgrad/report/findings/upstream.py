"""What is known upstream of findings: the rows of ``upstream.toml`` beside the reports.

Each row names an engine, the checks that it explains, a link, and the date on which somebody looked it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from refgrad.documents import read_toml
from refgrad.report.document import ReportError

FILE: Final = "upstream.toml"


@dataclass(frozen=True, slots=True)
class Known:
    """A report of others on what a finding shows."""

    engine: str
    checks: frozenset[str]
    link: str
    looked_up: date
    note: str

    def explains(self, engine: str, checks: Iterable[str]) -> bool:
        """Whether it is about one of some checks of an engine."""
        return engine == self.engine and not self.checks.isdisjoint(checks)


def read_upstream(folder: Path) -> list[Known]:
    """Read what is known beside the reports of a folder, nothing where there is no such file.

    Raises ReportError where the file is malformed.
    """
    path = folder / FILE
    if not path.exists():
        return []
    return [
        Known(row["engine"], frozenset(row["checks"]), row["link"], date.fromisoformat(row["date"]), row["note"])
        for row in read_toml(path, "upstream", ReportError, dates=("date",)).get("known", ())
    ]
