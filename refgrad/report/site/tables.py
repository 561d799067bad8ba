"""The tables of the site: operators and conventions, with a cell for each engine."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from refgrad.facts import Entry
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Outcome, Verdict
from refgrad.operators import operator_table
from refgrad.report.pages import Graded


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of an engine: the worst of its verdicts, the number of failures, and the text of the cell."""

    outcome: Outcome | None
    failed: int = 0
    text: str = ""

    @property
    def state(self) -> str:
        """State of the result: ``good``, ``bad``, ``open`` or ``none``."""
        if self.outcome is None or self.outcome == "unsupported":
            return "none"
        if self.outcome in FAILURES:
            return "bad"
        return "open" if self.outcome == "inconclusive" else "good"


@dataclass(frozen=True, slots=True)
class Row:
    """An operator, with a cell for each engine."""

    name: str
    summary: str
    cells: tuple[Cell, ...]

    @property
    def states(self) -> str:
        """Different states of the cells, for filters."""
        return " ".join(sorted({cell.state for cell in self.cells}))


def widest_first(reports: Sequence[Graded]) -> list[Graded]:
    """Return reports in the order of columns of tables: the engine that offers most operators comes first."""
    return sorted(reports, key=lambda report: -len({v.operator for v in report.verdicts if v.verdict != "unsupported"}))


def operators_of(reports: Sequence[Graded]) -> list[Row]:
    """Return a row for each operator, in the order of the suite, with the worst verdict of each engine."""
    names = dict.fromkeys(v.operator for report in reports for v in report.verdicts if v.operator)
    verdicts = [defaultdict[str, list[Verdict]](list) for _ in reports]
    for by_operator, report in zip(verdicts, reports, strict=True):
        for verdict in report.verdicts:
            by_operator[verdict.operator].append(verdict)
    table = operator_table()
    summaries = {name: table[name].summary if name in table else "" for name in names}
    return [Row(name, summary, tuple(_worst(each[name]) for each in verdicts)) for name, summary in summaries.items()]


def conventions_of(reports: Sequence[Graded]) -> list[Row]:
    """Return a row for each operator at whose edges an engine chose a convention, with the choice of each engine."""
    rows = [[v for v in report.verdicts if v.chapter == "edges" and v.operator] for report in reports]
    chosen = dict.fromkeys(v.operator for verdicts in rows for v in verdicts if v.verdict == "convention")
    by_name = [{v.operator: v for v in verdicts} for verdicts in rows]
    edges = {name: operator_table()[name].edges if name in operator_table() else () for name in chosen}
    where = {name: "; ".join(str(edge.where) for edge in of_operator) for name, of_operator in edges.items()}
    return [Row(name, where[name], tuple(_choice(each.get(name)) for each in by_name)) for name in chosen]


def _worst(verdicts: Sequence[Verdict]) -> Cell:
    if not verdicts:
        return Cell(None)
    offered = [v for v in verdicts if v.verdict != "unsupported"] or verdicts
    worst = min(offered, key=lambda v: OUTCOMES.index(v.verdict))
    return Cell(worst.verdict, sum(v.failed for v in verdicts), worst.verdict)


def _choice(verdict: Verdict | None) -> Cell:
    """Return a cell with the position in the legal interval that was chosen."""
    if verdict is None:
        return Cell(None)
    fact = verdict.fact
    if verdict.verdict != "convention" or not isinstance(fact, Entry):
        return Cell(verdict.verdict, int(verdict.failed), verdict.verdict)
    seen, low, high = float(fact.observed), float(fact.lower), float(fact.upper)
    return Cell("convention", 0, f"{_end(seen, low, high)}: {seen:.4g} of [{low:.4g}, {high:.4g}]")


def _end(seen: float, low: float, high: float) -> str:
    """Return the position of a number in an interval, in words."""
    near = 1e-6 * max(abs(low), abs(high))
    if math.isnan(seen):
        return "not a number"
    if abs(seen - low) <= near:
        return "lower end"
    return "upper end" if abs(seen - high) <= near else "in between"
