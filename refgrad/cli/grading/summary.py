"""The summary of a graded engine: a table of chapters, and what failed, with programs that show it."""

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
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Outcome, Verdict
from refgrad.pytest_plugin.plan import Plan
from refgrad.report.findings import Script
from refgrad.report.narration import failure_text

SHOWN: Final = 10
"""How many failures are told in full; the report has them all."""

WIDE: Final = 200
"""Columns of what is no terminal: enough for every outcome."""

STYLES: Final[Mapping[Outcome, str]] = MappingProxyType({
    **dict.fromkeys(FAILURES, "red"),
    "passed": "green",
    "convention": "cyan",
    "inconclusive": "yellow",
    "unsupported": "dim",
})


def terminal() -> Console:
    """Return stdout for a person, or as wide and plain as it takes for a program."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def print_summary(console: Console, plan: Plan, verdicts: Sequence[Verdict], report: Path | None) -> None:
    """Print how an engine did, and where its report lies, if one was written."""
    _line(console, Text(plan.title, style="bold"))
    if verdicts:
        console.print(_table(verdicts, plain=not console.is_terminal))
        console.print()
    failed = plan.known_failures.unexpected(verdicts)
    for verdict in failed[:SHOWN]:
        _failure(console, plan.script(verdict))
    if failed:
        _line(console, Text(f"{_again(plan, failed[0])}  # runs one of them again\n", style="dim"))
    if failed[SHOWN:]:
        where = "" if report is None else f", in {report}"
        _line(console, Text(f"... and {len(failed) - SHOWN} more{where}\n"))
    _line(console, Text(_conclusion(plan, verdicts), style=_style(plan, verdicts)))
    if report is not None:
        _line(console, Text(f"report: {report}\n"))


def _again(plan: Plan, verdict: Verdict) -> str:
    """Return the command that finds what this run found of a check."""
    given = plan.options
    words = ["refgrad", "replay", verdict.id, "--engine", given.engine]
    words += ["--profile", given.profile, "--seed", str(given.seed)]
    return shlex.join([*words, *([] if given.python is None else ["--python", given.python])])


def _table(verdicts: Sequence[Verdict], *, plain: bool) -> Table:
    """Chapters by outcomes; outcomes that do not occur have no column."""
    counted = Counter((verdict.chapter, verdict.verdict) for verdict in verdicts)
    outcomes = [outcome for outcome in reversed(OUTCOMES) if any(found == outcome for _, found in counted)]
    table = Table(box=None if plain else HORIZONTALS, pad_edge=False)
    table.add_column("chapter")
    for outcome in outcomes:
        table.add_column(outcome, justify="right", style=STYLES[outcome])
    for chapter in dict.fromkeys(verdict.chapter for verdict in verdicts):
        table.add_row(chapter, *(str(counted[chapter, outcome] or "") for outcome in outcomes))
    return table


def _failure(console: Console, found: Script) -> None:
    head, _, rest = failure_text(found).partition("\n")
    _line(console, Text(head, style="bold red"))
    _line(console, Text(indent(rest, "  ") + "\n"))


def _conclusion(plan: Plan, verdicts: Sequence[Verdict]) -> str:
    failed = [verdict for verdict in verdicts if verdict.failed]
    parts = [f"{len(verdicts)} check{'s' * (len(verdicts) != 1)}", f"{len(failed) or 'none'} failed"]
    if failed:
        parts.append(f"{sum(verdict.level == 'MUST' for verdict in failed)} of them on the level MUST")
    if known := len(failed) - len(plan.known_failures.unexpected(verdicts)):
        parts.append(f"{known} of them known")
    if undecided := sum(verdict.verdict == "inconclusive" for verdict in verdicts):
        parts.append(f"{undecided} inconclusive")
    unfinished = _not_run(plan, verdicts)
    return ", ".join(parts) + (f"; {unfinished} not run" if unfinished else "")


def _not_run(plan: Plan, verdicts: Sequence[Verdict]) -> int:
    """How many planned checks have no verdict; there may be verdicts of others, on which these rely."""
    return len({check.id for check in plan.checks} - {verdict.id for verdict in verdicts})


def _style(plan: Plan, verdicts: Sequence[Verdict]) -> str:
    """Green only where everything was decided, and well."""
    if plan.known_failures.unexpected(verdicts):
        return "red"
    undecided = any(verdict.verdict == "inconclusive" for verdict in verdicts)
    return "yellow" if undecided or _not_run(plan, verdicts) else "green"


def _line(console: Console, text: Text) -> None:
    """Print without wrapping: programs are there to be pasted."""
    console.print(text, soft_wrap=True)
