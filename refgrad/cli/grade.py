"""``refgrad grade``: find what is right and what is wrong in some engines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import click
import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from refgrad.cli.failure import Failure, Status, file_path, told_in_one_line
from refgrad.cli.session import Outcome, run_session
from refgrad.cli.summary import print_summary, terminal
from refgrad.grading.checks.settings import EFFORTS
from refgrad.native.adapter import try_import
from refgrad.native.text import plain_text
from refgrad.pytest_plugin.conformance import LONGEST_TRACEBACK
from refgrad.pytest_plugin.options import GradeOptions
from refgrad.pytest_plugin.plan import Plan, PlanError
from refgrad.pytest_plugin.recording import Recorder
from refgrad.pytest_plugin.terminal import without_verdict
from refgrad.report import write_pages

SEVERITY: Final = (
    Status.TERMINATED,
    Status.INTERRUPTED,
    Status.WRONG_USAGE,
    Status.CANNOT_START,
    Status.BROKEN,
    Status.FAILED,
    Status.PASSED,
)
"""The statuses of several engines, worst first."""

MOST_WORKERS: Final = 8
STOPPED: Final[Mapping[Status, str]] = MappingProxyType({
    Status.BROKEN: "",
    Status.INTERRUPTED: "interrupted: ",
    Status.TERMINATED: "terminated: ",
})


@click.command()
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
@click.option(
    "--output", type=file_path, metavar="DIR", default="out", show_default=True, help="Folder for ENGINE.json."
)
@click.option(
    "--profile", type=click.Choice(list(EFFORTS)), default="standard", show_default=True, help="How much to run."
)
@click.option("--seed", type=int, default=0, show_default=True, help="What every generated scenario follows from.")
@click.option("--select", multiple=True, metavar="GLOB", help="Run the checks whose id matches, such as 'operators/*'.")
@click.option("--workers", type=click.IntRange(1), help=f"Processes [default: one a core, at most {MOST_WORKERS}].")
@click.option("--resume", is_flag=True, help="Go on from the journal that an interrupted run left in the folder.")
@click.option(
    "--python", metavar="PATH", help="Run the engines in this interpreter; refgrad need not be installed there."
)
@click.option("--in-process", is_flag=True, help="Run the engines in the grading processes, for a debugger.")
@click.option(
    "--time-limit", type=float, metavar="SECONDS", help="End an engine that runs one program longer [default: 60]."
)
@click.option(
    "--memory-limit",
    type=click.IntRange(1),
    metavar="MIB",
    help="Memory that a started engine may take [default: 8192].",
)
@click.option("--pages", is_flag=True, help="Write the pages of `refgrad report` too, when every engine is graded.")
def grade(engines: tuple[str, ...], workers: int | None, *, pages: bool, **options: Any) -> None:
    """Grade engines: names (see `refgrad list engines`), engine files, or adapters of your own as module:object.

    Exit status: 0 every check has a verdict and every MUST holds, 1 some do not hold, 2 wrong usage, 3 an engine could
    not be started, 4 a check has no verdict or nothing can be written, 130 interrupted, 143 terminated.
    """
    for engine in engines:
        _refuse_what_ends_a_process(engine)
    with told_in_one_line():
        plans = [Plan.of(GradeOptions(engine=engine, **options)) for engine in engines]
        _refuse_clashes(plans)
        for plan in plans:
            _refuse_what_cannot_be_done(plan)
    worst = Status.PASSED
    for plan in plans:
        status = _grade(plan, workers or min(os.cpu_count() or 2, MOST_WORKERS))
        worst = min(worst, status, key=SEVERITY.index)
        if status in {Status.INTERRUPTED, Status.TERMINATED}:
            break
    if pages and any(plan.report is not None and plan.report.exists() for plan in plans):
        with told_in_one_line():
            write_pages(options["output"])
    raise SystemExit(int(worst))


def _refuse_what_ends_a_process(engine: str) -> None:
    ending = try_import(engine)
    if ending:
        raise Failure(f"engine {engine!r} cannot be started: {ending}", Status.CANNOT_START)


def _refuse_clashes(plans: Sequence[Plan]) -> None:
    reports = Counter(plan.report for plan in plans)
    for path, count in reports.items():
        if count > 1:
            raise PlanError(f"{path} would be written {count} times: grade engines of different names, each once")


def _refuse_what_cannot_be_done(plan: Plan) -> None:
    """Raise PlanError for a report that cannot be written, JournalError for a journal that cannot be gone on with."""
    lock = plan.lock()
    try:
        plan.known()
    finally:
        if lock is not None:
            lock.release()


def _grade(plan: Plan, workers: int) -> Status:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(plan.adapter.name, total=len(plan.checks))
        outcome = run_session(plan.options, min(workers, len(plan.checks)), lambda: progress.advance(task))
    return _tell(plan, outcome)


def _tell(plan: Plan, outcome: Outcome) -> Status:
    """Print what was found and what kept more from being found, and return the status of the worst of it."""
    recorder = outcome.recorder
    if outcome.refused:
        return Status.WRONG_USAGE
    if recorder is None:
        click.echo(plain_text(outcome.output, LONGEST_TRACEBACK), err=True)
        return _report(Failure(f"refgrad failed while it graded {plan.adapter.name!r}; see above", Status.BROKEN))
    if recorder.start_error:
        return _report(Failure(recorder.start_error, Status.CANNOT_START))
    verdicts = recorder.found
    print_summary(terminal(), plan, verdicts, recorder.report)
    for check, text in recorder.broken.items():
        click.echo(f"{check} ended without a verdict: {text}", err=True)
    if outcome.code == pytest.ExitCode.INTERNAL_ERROR:
        click.echo(plain_text(outcome.output, LONGEST_TRACEBACK), err=True)
    unfinished = [check.id for check in plan.checks if check.id not in recorder.verdicts]
    statuses = [_report(failure) for failure in _failures(outcome, recorder, unfinished)]
    if any(verdict.failed and verdict.level == "MUST" for verdict in verdicts):
        statuses.append(Status.FAILED)
    return min(statuses, key=SEVERITY.index, default=Status.PASSED)


def _failures(outcome: Outcome, recorder: Recorder, unfinished: Sequence[str]) -> Iterator[Failure]:
    """Yield what keeps a run from being complete."""
    stopped = outcome.stopped_by
    if recorder.write_error:
        yield Failure(recorder.write_error, Status.BROKEN)
    if unfinished or stopped:
        status = Status(stopped) if stopped else Status.BROKEN
        yield Failure(f"{STOPPED[status]}{without_verdict(unfinished)}; go on with --resume", status)
    elif outcome.code == pytest.ExitCode.INTERNAL_ERROR:
        yield Failure("refgrad itself failed; see above", Status.BROKEN)


def _report(failure: Failure) -> Status:
    failure.show()
    return failure.status
