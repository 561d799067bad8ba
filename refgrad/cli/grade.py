"""``refgrad grade``: what is right and what is wrong in some engines?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from refgrad.cli.failure import Failure, Status, told_in_one_line
from refgrad.cli.session import Outcome, run_session
from refgrad.cli.summary import print_summary, terminal
from refgrad.harness.settings import EFFORTS
from refgrad.pytest_plugin.options import GradeOptions
from refgrad.pytest_plugin.plan import Plan, PlanError
from refgrad.report import document_path, write_pages

SEVERITY: Final = (Status.INTERRUPTED, Status.CANNOT_START, Status.BROKEN, Status.FAILED, Status.PASSED)
MOST_WORKERS: Final = 8


@click.command()
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("out"), show_default=True, help="Folder for ENGINE.json."
)
@click.option(
    "--profile", type=click.Choice(list(EFFORTS)), default="standard", show_default=True, help="How much to run."
)
@click.option("--seed", type=int, default=0, show_default=True, help="What every generated scenario follows from.")
@click.option("--select", multiple=True, metavar="GLOB", help="Run the checks whose id matches, such as 'operators/*'.")
@click.option("--workers", type=click.IntRange(1), help=f"Processes [default: one a core, at most {MOST_WORKERS}].")
@click.option("--resume", is_flag=True, help="Go on from the journal that an interrupted run left in the folder.")
@click.option("--pages", is_flag=True, help="Write the pages of `refgrad report` too, when every engine is graded.")
def grade(engines: tuple[str, ...], workers: int | None, *, pages: bool, **options: Any) -> None:
    """Grade engines: names (see `refgrad list engines`), or adapters of your own as module:object.

    Exit status: 0 every MUST holds, 1 some do not, 2 wrong usage, 3 an engine could not be started, 4 refgrad itself
    failed, 130 interrupted.
    """
    with told_in_one_line():
        plans = [Plan.of(GradeOptions(engine=engine, **options)) for engine in engines]
        _refuse_clashes(plans)
        for plan in plans:
            plan.known()
        options["output"].mkdir(parents=True, exist_ok=True)
    worst = Status.PASSED
    for plan in plans:
        status = _grade(plan, workers or min(os.cpu_count() or 2, MOST_WORKERS))
        worst = min(worst, status, key=SEVERITY.index)
        if status is Status.INTERRUPTED:
            break
    if pages:
        with told_in_one_line():
            write_pages(options["output"])
    raise SystemExit(int(worst))


def _refuse_clashes(plans: Sequence[Plan]) -> None:
    reports = Counter(document_path(plan.options.output or Path(), plan.adapter.name) for plan in plans)
    for path, count in reports.items():
        if count > 1:
            raise PlanError(f"{path} would be written {count} times: grade engines of different names, each once")


def _grade(plan: Plan, workers: int) -> Status:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(plan.adapter.name, total=len(plan.checks))
        outcome = run_session(plan.options, min(workers, len(plan.checks)), lambda: progress.advance(task))
    return _tell(plan, outcome)


def _tell(plan: Plan, outcome: Outcome) -> Status:
    recorder = outcome.recorder
    if recorder is not None and recorder.start_error:
        return _report(Failure(recorder.start_error, Status.CANNOT_START))
    if recorder is None or outcome.code not in {0, 1, 2}:
        click.echo(outcome.output, err=True)
        return _report(Failure(f"refgrad failed while it graded {plan.adapter.name!r}; see above", Status.BROKEN))
    verdicts = recorder.found
    path = document_path(plan.options.output or Path(), plan.adapter.name)
    print_summary(terminal(), plan, verdicts, path)
    if outcome.interrupted:
        return _report(Failure(f"interrupted; go on with --resume ({path} is partial)", Status.INTERRUPTED))
    for check, text in recorder.broken.items():
        click.echo(text, err=True)
        _report(Failure(f"refgrad itself failed at {check}", Status.BROKEN))
    if recorder.broken:
        return Status.BROKEN
    return Status.FAILED if any(v.failed and v.level == "MUST" for v in verdicts) else Status.PASSED


def _report(failure: Failure) -> Status:
    failure.show()
    return failure.status
