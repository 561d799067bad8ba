"""The committed reports and their findings, read once in a process: to print all of their programs takes seconds."""

from __future__ import annotations

from functools import cache
from typing import Final

from refgrad.report.document import Report, read_report
from refgrad.report.findings import Script, scripts
from tests.repository.sources import ROOT

COMMITTED: Final = tuple(sorted(path.stem for path in (ROOT / "reports").glob("*.json")))
"""The engines that have a committed report."""


@cache
def committed_report(engine: str) -> Report:
    """Return the committed report on an engine."""
    return read_report(ROOT / "reports" / f"{engine}.json")


@cache
def committed_scripts(engine: str) -> tuple[Script, ...]:
    """Return the findings of the committed report on an engine."""
    return tuple(scripts(committed_report(engine)))
