"""The summary of a graded engine: a table of chapters, and the failures, with programs that reproduce them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Final

from rich.box import HORIZONTALS
from rich.table import Table
from rich.text import Text

from refgrad.cli.progress import Console
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Outcome, Totals, Verdict
from refgrad.pytest_plugin.plan import Plan
from refgrad.report.findings.causes import Cause, causes
from refgrad.report.narration import failure_text

SHOWN: Final = 10
"""Largest number of causes that are printed in full; the report has all of them."""

FEW: Final = 5
"""Largest number of further checks failing for one cause that are named."""

WIDE: Final = 200
"""Width of the output, in columns, if it is not a terminal: enough for every outcome."""

STYLES: Final[Mapping[Outcome, str]] = MappingProxyType({
    **dict.fromkeys(FAILURES, "red"),
    "passed": "green",
    "convention": "cyan",
    "inconclusive": "yellow",
    "unsupported": "dim",
})


def terminal() -> Console:
    """Return a console on stdout, which has a fixed width if stdout is not a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def print_summary(console: Console, plan: Plan, verdicts: Sequence[Verdict], report: Path | None) -> None:
    """Print the results of an engine, and the path of its report if one was written."""
    _line(console, Text(plan.title, style="bold"))
    if verdicts:
        console.print(_table(verdicts, plain=not console.is_terminal))
        console.print()
    found = causes([plan.script(verdict) for verdict in plan.known_failures.unexpected(verdicts)], verdicts)
    for cause in found[:SHOWN]:
        _told(console, cause)
    if found:
        _line(console, Text(f"{_again(plan, found[0].best.verdict)}  # runs one of them again\n", style="dim"))
    if found[SHOWN:]:
        where = "" if report is None else f", in {report}"
        _line(console, Text(f"... and {len(found) - SHOWN} more{where}\n"))
    _line(console, Text(_conclusion(plan, verdicts), style=_style(plan, verdicts)))
    if report is not None:
        _line(console, Text(f"report: {report}"))
        page = f"refgrad report {shlex.quote(str(report.parent))}  # writes a page of causes, and the programs\n"
        _line(console, Text(page if found else "", style="dim"))


def _again(plan: Plan, verdict: Verdict) -> str:
    """Return the command that reproduces the verdict of a check in this run."""
    given = plan.options
    words = ["refgrad", "replay", verdict.id, "--engine", given.engine]
    words += ["--profile", given.profile, "--seed", str(given.seed)]
    return shlex.join([*words, *([] if given.python is None else ["--python", given.python])])


def _table(verdicts: Sequence[Verdict], *, plain: bool) -> Table:
    """Return a table of chapters by outcomes; outcomes that do not occur have no column."""
    counted = Counter((verdict.chapter, verdict.verdict) for verdict in verdicts)
    outcomes = [outcome for outcome in reversed(OUTCOMES) if any(found == outcome for _, found in counted)]
    table = Table(box=None if plain else HORIZONTALS, pad_edge=False)
    table.add_column("chapter")
    for outcome in outcomes:
        table.add_column(outcome, justify="right", style=STYLES[outcome])
    for chapter in dict.fromkeys(verdict.chapter for verdict in verdicts):
        table.add_row(chapter, *(str(counted[chapter, outcome] or "") for outcome in outcomes))
    return table


def _told(console: Console, cause: Cause) -> None:
    """Print the finding that shows a cause best, and the other checks that the cause explains."""
    head, _, rest = failure_text(cause.best).partition("\n")
    others = [*(each.verdict.id for each in cause.findings[1:]), *cause.hidden]
    more = f" and {len(others) - FEW} more" if others[FEW:] else ""
    _line(console, Text(head, style="bold red"))
    if others:
        rest = f"explains {len(others)} more check{'s' * (len(others) != 1)}: {', '.join(others[:FEW])}{more}\n{rest}"
    _line(console, Text(indent(rest, "  ") + "\n"))


def _conclusion(plan: Plan, verdicts: Sequence[Verdict]) -> str:
    totals = Totals.of(verdicts)
    counts = {
        "on the level MUST": totals.must_failed,
        "known": totals.failed - len(plan.known_failures.unexpected(verdicts)),
        "inconclusive": sum(verdict.verdict == "inconclusive" for verdict in verdicts),
        "not run": _not_run(plan, verdicts),
    }
    return "; ".join([totals.text, *(f"{count} {what}" for what, count in counts.items() if count)])


def _not_run(plan: Plan, verdicts: Sequence[Verdict]) -> int:
    """Return the number of planned checks without a verdict; ``verdicts`` may also have those of other checks."""
    return len({check.id for check in plan.checks} - {verdict.id for verdict in verdicts})


def _style(plan: Plan, verdicts: Sequence[Verdict]) -> str:
    """Return the colour of the conclusion: green only if all checks were run and decided, and no failure is new."""
    if plan.known_failures.unexpected(verdicts):
        return "red"
    undecided = any(verdict.verdict == "inconclusive" for verdict in verdicts)
    return "yellow" if undecided or _not_run(plan, verdicts) else "green"


def _line(console: Console, text: Text) -> None:
    """Print a line without wrapping, so that programs in it can be copied."""
    console.print(text, soft_wrap=True)
