"""``refgrad grade``: grade engines, and print what is wrong in each."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Any, Final

import click
import pytest
from rich.box import HORIZONTALS
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from refgrad.cli.adapters import write_adapter
from refgrad.cli.failure import Failure, Status
from refgrad.cli.progress import Console, passing_line
from refgrad.cli.session import SessionResult, run_session
from refgrad.grading.first_adapter.library import LibraryModules
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Outcome, Totals, Verdict
from refgrad.native.engine_names import unknown_engine
from refgrad.native.text import plain_line, plain_text
from refgrad.pytest_plugin import GradeOptions
from refgrad.pytest_plugin.plan import Plan, PlanError
from refgrad.pytest_plugin.recording import SessionRecorder, without_verdict
from refgrad.report import CHARACTERS, ITEMS
from refgrad.report.ci import failure_text
from refgrad.report.findings.causes import Cause, causes

STOPPED: Final = (Status.TERMINATED, Status.QUIT, Status.INTERRUPTED, Status.HANGUP)
"""Statuses of a run that a signal ended."""

SEVERITY: Final = (*STOPPED, Status.WRONG_USAGE, Status.CANNOT_START, Status.BROKEN, Status.FAILED, Status.PASSED)
"""All statuses, worst first, by which the status of several engines is determined."""


def grade_engines(
    engines: Sequence[str], workers: int, *, pages: bool, save: Path | None = None, **options: Any
) -> Status:
    """Grade engines one after another, each in ``workers`` processes, and return the worst status of them.

    For an engine without an adapter, one is generated first and written to ``save``, or into the folder of the reports.
    """
    options = {name: value for name, value in options.items() if value is not None}
    if options.get("name") is not None and len(engines) > 1:
        raise PlanError("--name names one engine")
    python = options.get("python") or sys.executable
    libraries = [LibraryModules.of([engine], None, python) if unknown_engine(engine) else None for engine in engines]
    if save is not None and sum(map(bool, libraries)) != 1:
        raise PlanError("--save takes the adapter of one file or module that has none")
    plans, names = list[Plan](), Counter[str]()
    for engine, library in zip(engines, libraries, strict=True):
        if library is None:
            plans.append(Plan.of(GradeOptions(engine=engine, **options)))
        else:
            plans.append(Plan.of(_adapted(library, save, options, names[library.name])))
            names[library.name] += 1
    plans = _apart(plans)
    for plan in plans:
        _refuse_what_cannot_be_done(plan)
    worst = Status.PASSED
    for plan in plans:
        status = _grade(plan, workers)
        worst = min(worst, status, key=SEVERITY.index)
        if status in STOPPED:
            break
    if pages and any(plan.report is not None and plan.report.exists() for plan in plans):
        from refgrad.report.pages import write_pages

        write_pages(options["output"])
    return worst


def _adapted(library: LibraryModules, save: Path | None, options: Mapping[str, Any], before: int) -> GradeOptions:
    """Write the adapter of a library, and return the options of a grade with it.

    The profile is smoke unless the options name another. ``before`` is the number of earlier libraries of the same
    name.
    """
    if save is not None and save.exists():
        raise PlanError(f"{save} is there already; name another file with --save")
    name = f"{library.name}-{before + 1}" if before else library.name
    path = save or options["output"] / f"{name}.adapter.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_adapter(library, path, yes=True)
    return GradeOptions(engine=str(path), **{"profile": "smoke", **options})


def _apart(plans: Sequence[Plan]) -> list[Plan]:
    """Return plans with distinct report files: the second of several engines of one name is NAME-2, and so on.

    Raises PlanError if an engine is named twice.
    """
    engine, times = Counter(plan.options.engine for plan in plans).most_common(1)[0]
    if times > 1:
        raise PlanError(f"{plain_line(engine)!r} is given {times} times: grade each engine once")
    taken, distinct = set[Path | None](), list[Plan]()
    for plan in plans:
        names = (f"{plan.adapter.name}-{number}" for number in count(2))
        while plan.report in taken:
            plan = Plan.of(replace(plan.options, name=next(names)))  # noqa: PLW2901 (tries names until one is free)
        taken.add(plan.report)
        distinct.append(plan)
    return distinct


def _refuse_what_cannot_be_done(plan: Plan) -> None:
    """Raise PlanError if the report cannot be written, JournalError if the run cannot be resumed from its journal."""
    lock = plan.lock()
    try:
        plan.known()
    finally:
        if lock is not None:
            lock.release()


def _grade(plan: Plan, workers: int) -> Status:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with passing_line(*columns) as progress:
        task = progress.add_task(plan.adapter.name, total=len(plan.checks))
        outcome = run_session(plan.options, min(workers, len(plan.checks)), lambda: progress.advance(task))
    return _print_results(plan, outcome)


def _print_results(plan: Plan, outcome: SessionResult) -> Status:
    """Print the results and the reasons why the run is incomplete, and return the worst status of these."""
    recorder = outcome.recorder
    if outcome.code == pytest.ExitCode.USAGE_ERROR and (recorder is None or not recorder.begun):  # pytest says why
        return Status.WRONG_USAGE
    if recorder is None:
        click.echo(plain_text(outcome.output, CHARACTERS["output"]), err=True)
        return _report(Failure(f"refgrad failed while it graded {plan.adapter.name!r}; see above", Status.BROKEN))
    if recorder.start_error:
        return _report(Failure(recorder.start_error, Status.CANNOT_START))
    verdicts = recorder.ordered_verdicts
    print_summary(terminal(), plan, verdicts, recorder.report)
    objections = plan.known_failures.objections(verdicts)
    for objection in objections:
        click.echo(plain_line(objection), err=True)
    for line in recorder.annotations():
        click.echo(line)
    for check, text in recorder.broken.items():
        click.echo(f"{check} ended without a verdict: {text}", err=True)
    if outcome.code == pytest.ExitCode.INTERNAL_ERROR:
        click.echo(plain_text(outcome.output, CHARACTERS["output"]), err=True)
    unfinished = [check.id for check in plan.checks if check.id not in recorder.verdicts]
    statuses = [_report(failure) for failure in _failures(outcome, recorder, unfinished)]
    if objections or any(verdict.level == "MUST" for verdict in plan.known_failures.unexpected(verdicts)):
        statuses.append(Status.FAILED)
    return min(statuses, key=SEVERITY.index, default=Status.PASSED)


def _failures(outcome: SessionResult, recorder: SessionRecorder, unfinished: Sequence[str]) -> Iterator[Failure]:
    """Yield the reasons why a run is incomplete."""
    stopped = recorder.signals.status
    if recorder.write_error:
        yield Failure(recorder.write_error, Status.BROKEN)
    if unfinished or stopped:
        status = Status(stopped) if stopped else Status.BROKEN
        reason = f"{status.name.lower()}: " if stopped else ""
        yield Failure(f"{reason}{without_verdict(unfinished)}; go on with --resume", status)
    elif outcome.code == pytest.ExitCode.INTERNAL_ERROR:
        yield Failure("refgrad itself failed; see above", Status.BROKEN)


def _report(failure: Failure) -> Status:
    failure.show()
    return failure.status


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
    return console if console.is_terminal else Console(highlight=False, width=CHARACTERS["summary_line"])


def print_summary(console: Console, plan: Plan, verdicts: Sequence[Verdict], report: Path | None) -> None:
    """Print the results of an engine, and the path of its report if one was written."""
    _line(console, Text(plan.title, style="bold"))
    if verdicts:
        console.print(_table(verdicts, plain=not console.is_terminal))
        console.print()
    problems = causes([plan.script(verdict) for verdict in plan.known_failures.unexpected(verdicts)], verdicts)
    for cause in problems[: ITEMS["causes"]]:
        _print_cause(console, cause)
    if problems:
        _line(console, Text(f"{_again(plan, problems[0].best.verdict)}  # runs one of them again\n", style="dim"))
    if more := problems[ITEMS["causes"] :]:
        where = "" if report is None else f", in {report}"
        _line(console, Text(f"... and {len(more)} more{where}\n"))
    _line(console, Text(_conclusion(plan, verdicts), style=_style(plan, verdicts)))
    if report is not None:
        _line(console, Text(f"report: {report}"))
        page = f"refgrad report {shlex.quote(str(report.parent))}  # writes a page of causes, and the programs\n"
        _line(console, Text(page if problems else "", style="dim"))


def _again(plan: Plan, verdict: Verdict) -> str:
    """Return the command that reproduces the verdict of a check in this run."""
    options = plan.options
    words = ["refgrad", "replay", verdict.id, "--engine", options.engine]
    words += ["--profile", options.profile, "--seed", str(options.seed)]
    return shlex.join([*words, *([] if options.python is None else ["--python", options.python])])


def _table(verdicts: Sequence[Verdict], *, plain: bool) -> Table:
    """Return a table of chapters by outcomes; outcomes that do not occur have no column."""
    counted = Counter((verdict.chapter, verdict.verdict) for verdict in verdicts)
    outcomes = [outcome for outcome in reversed(OUTCOMES) if any(each == outcome for _, each in counted)]
    table = Table(box=None if plain else HORIZONTALS, pad_edge=False)
    table.add_column("chapter")
    for outcome in outcomes:
        table.add_column(outcome, justify="right", style=STYLES[outcome])
    for chapter in dict.fromkeys(verdict.chapter for verdict in verdicts):
        table.add_row(chapter, *(str(counted[chapter, outcome] or "") for outcome in outcomes))
    return table


def _print_cause(console: Console, cause: Cause) -> None:
    """Print the finding that shows a cause best, and the other checks that the cause explains."""
    head, _, rest = failure_text(cause.best).partition("\n")
    others = [*(each.verdict.id for each in cause.findings[1:]), *cause.hidden]
    few = ITEMS["named_checks"]
    more = f" and {len(others) - few} more" if others[few:] else ""
    _line(console, Text(head, style="bold red"))
    if others:
        rest = f"explains {len(others)} more check{'s' * (len(others) != 1)}: {', '.join(others[:few])}{more}\n{rest}"
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
