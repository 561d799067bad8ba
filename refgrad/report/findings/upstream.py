"""What is known upstream of findings: the rows of ``upstream.toml`` beside the reports.

Each row names an engine, the checks that it explains, a link, and the date on which somebody looked it up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from refgrad.report.document import ReportError

FILE: Final = "upstream.toml"
MEMBERS: Final[Mapping[str, type]] = {"engine": str, "checks": list, "link": str, "date": date, "note": str}


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
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])
    except (OSError, ValueError) as error:
        raise ReportError(f"{path} cannot be read: {error}") from error
    return [_known(path, number, row) for number, row in enumerate(rows, 1)]


def _known(path: Path, number: int, row: Mapping[str, Any]) -> Known:
    for name, kind in MEMBERS.items():
        if not isinstance(row.get(name), kind):
            raise ReportError(f"{path}: row {number}: {name!r} must be given, as {kind.__name__}")
    if odd := set(row) - set(MEMBERS):
        raise ReportError(f"{path}: row {number}: has the unknown key {min(odd)!r}")
    if not row["link"].startswith("https://"):
        raise ReportError(f"{path}: row {number}: the link must begin with https://")
    return Known(row["engine"], frozenset(map(str, row["checks"])), row["link"], row["date"], row["note"])
