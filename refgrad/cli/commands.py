"""The commands with their arguments and options; their implementations are imported when they run."""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, TextIO, get_args

import click

from refgrad.cli.adapters import doctor, new
from refgrad.cli.failure import Status
from refgrad.cli.options import ENGINE, OUTPUT, PROFILE, PYTHON, SEED, WORKERS, engine_name, existing_path, file_path
from refgrad.grading.settings import EFFORTS
from refgrad.native.engine_names import is_file, is_importable

Listed = Literal["operators", "engines", "checks", "features"]
"""Kinds of items that can be listed."""


@click.command(short_help="Measure errors in units of the last place.")
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...", type=engine_name)
@click.option("--select", multiple=True, metavar="GLOB", help="Measure operators whose name matches, such as 'log*'.")
@click.option("--dtype", default="float64", show_default=True, help="Measure numbers of this dtype, such as float32.")
@PYTHON
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with the worst of every value and slope.")
def accuracy(engines: tuple[str, ...], **options: Any) -> None:
    """Measure the errors of each elementwise operator in units of the last place, and show where they are largest.

    It is a measurement, not a verdict: points are drawn over the range of each row and over all magnitudes, and then
    close to the worst. The truth of each is certified.
    """
    from refgrad.cli.measurements import show_accuracy

    show_accuracy(engines, **options)


@click.command(short_help="Check the gradient of a function.")
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--inputs", required=True, metavar="MODULE:FUNCTION", help="Check it at the inputs that this returns.")
@click.option("--engine", default="torch", show_default=True, metavar="NAME", type=engine_name, help="Use this engine.")
@click.option("--budget", type=click.FloatRange(0), default=10, show_default=True, help="Take so many seconds.")
@click.option("--tolerance", type=click.FloatRange(0), default=0, help="Let relative errors below this pass.")
@click.option("--order", type=click.IntRange(1), default=1, show_default=True, help="Check so many derivatives.")
@click.option("--forward", is_flag=True, help="Check forward mode, too.")
@click.option("--batched", is_flag=True, help="Check gradients under vmap, too.")
@click.option("--method", default="auto", metavar="auto|differences", help="Get the truth by finite differences only.")
@click.option("--allow", multiple=True, metavar="CAUSE", help="Pass if the check is inconclusive for this cause.")
@click.option("--contexts", multiple=True, default=["cheap"], metavar="NAME", help="Try cheap, all, none, or this one.")
@click.option("--reference", metavar="MODULE:FUNCTION", help="Compare outputs and gradients with a slow function.")
@click.option("--gradient", metavar="MODULE:FUNCTION", help="Check this gradient in place of the engine's backward.")
@click.option("--equation", metavar="MODULE:FUNCTION", help="Accept the derivative of the equation that it solves.")
@click.option("--accumulate", default="float32", metavar="DTYPE", help="Accept sums in this dtype.", show_default=True)
@SEED
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object (specs/schema/check.schema.json).")
def check(function: str, inputs: str, engine: str, *, as_json: bool, **options: Any) -> Status:
    """Check that backward through a function gives its derivative, as refgrad.check_gradients does.

    MODULE is a module, which may be in the current folder, or the path of a file of Python. What it prints goes to
    standard error. FUNCTION may be a torch.autograd.Function. --inputs returns a tensor, a tuple of inputs, or a
    hypothesis strategy.

    --allow and --contexts may be repeated; the others are arguments of refgrad.check_gradients, too.

    Exit status: 0 the gradient is right, or inconclusive for a cause that --allow names, 1 it is wrong, 2 wrong usage,
    or something cannot be imported, 3 the engine could not be started, 4 the check is inconclusive.
    """
    from refgrad.cli.gradients import check_function

    return check_function(function, inputs, engine, as_json=as_json, **options)


@click.command(short_help="Show which operators engines have and lack.")
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...", type=engine_name)
@PYTHON
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, with the rows that reach each operator.")
def coverage(engines: tuple[str, ...], python: str | None, *, as_json: bool) -> None:
    """Show the operators of the table that each engine has and lacks, and those of its own that no row reaches.

    Nothing is declared: the rows are run, and the engine says what they reach. That takes the interpreter that runs
    refgrad; with --python only the rows of the table are counted.
    """
    from refgrad.cli.measurements import show_coverage

    show_coverage(engines, python, as_json=as_json)


@click.command(short_help="Grade engines, and write their reports.")
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
@OUTPUT
@PROFILE
@SEED
@click.option("--select", multiple=True, metavar="GLOB", help="Run the checks whose id matches, such as 'operators/*'.")
@WORKERS
@click.option("--name", metavar="NAME", help="Name the engine so in its report, and the report's file.")
@click.option("--resume", is_flag=True, help="Go on from the journal that an interrupted run left in the folder.")
@PYTHON
@click.option("--in-process", is_flag=True, help="Run the engines in the grading processes, for a debugger.")
@click.option("--time-limit", type=float, metavar="SECONDS", help="End programs that take longer [default: 60].")
@click.option("--start-limit", type=float, metavar="SECONDS", help="End slower starts of an engine [default: 300].")
@click.option("--memory-limit", type=click.IntRange(1), metavar="MIB", help="Give an engine no more [default: 8192].")
@click.option("--expect", type=file_path, metavar="FILE", help="Accept the known failures listed in a file of TOML.")
@click.option("--update", is_flag=True, help="Write the file of --expect anew: add what fails, delete what holds now.")
@click.option("--pages", is_flag=True, help="Write the pages of `refgrad report` too, when every engine is graded.")
@click.option("--save", type=file_path, metavar="FILE", help="Keep the adapter that is made of a file or module there.")
def grade(engines: tuple[str, ...], workers: int, save: Path | None, *, pages: bool, **options: Any) -> Status:
    """Grade engines: names (see `refgrad list engines`), engine files, or adapters of your own as module:object.

    An engine in Python that has no adapter is graded too, given as its file, such as ./mine.py, or as a module that can
    be imported: its adapter is made first, as `refgrad new --yes` does. What that suspects and leaves out is printed
    before the grade. The adapter is written to NAME.adapter.toml in the folder of --output, anew each time, unless
    --save names another file.

    The profile is standard, but smoke for an engine without an adapter.

    The table [tool.refgrad] of pyproject.toml holds defaults of these options, by their names.

    Compiled templates of C++ engines are kept in folders refgrad-cpp-* of the temporary directory, 512 MiB of them
    when an engine starts. `refgrad clean` removes them.

    Exit status: 0 every check has a verdict and every MUST holds or is known to fail, 1 some do not hold, or hold while
    they are known to fail, 2 wrong usage, 3 an engine could not be started, 4 a check has no verdict or nothing can be
    written; 129, 130, 131 or 143 a signal ended the run: SIGHUP, SIGINT, SIGQUIT or SIGTERM.
    """
    for engine in (name for name in engines if not (is_file(name) or is_importable(name) or options["python"])):
        engine_name(engine)
    from refgrad.cli.grade import grade_engines

    return grade_engines(engines, workers, pages=pages, save=save, **options)


@click.command(short_help="Grade the engines of a course, with points.")
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE.py|DIR...", type=existing_path)
@click.option("--points", required=True, type=existing_path, metavar="FILE", help="Give the points of this TOML file.")
@OUTPUT
@PROFILE
@SEED
@WORKERS
@PYTHON
def course(engines: tuple[Path, ...], points: Path, **options: Any) -> Status:
    """Grade the engine of each student, one after another: files, or folders that have a file or a folder a student.

    Each is graded as by `refgrad grade ./STUDENT.py`. An engine that cannot be imported has no points, and the error as
    feedback. The folder of --output has STUDENT/results.json for Gradescope, STUDENT/report with the findings, and the
    pages course.md and site/course.html with all students side by side.

    Exit status: 0 every engine has its score, 2 wrong usage, 4 refgrad could not finish the grade of some; 129, 130,
    131 or 143 a signal ended the run.
    """
    from refgrad.cli.course import grade_course

    return grade_course(engines, points, **options)


@click.command(short_help="Run one check again, by its id.")
@click.argument("check", metavar="CHECK")
@ENGINE
@click.option("--report", type=existing_path, metavar="ENGINE.json", help="Run the very scenario of this report.")
@click.option(
    "--profile", type=click.Choice(list(EFFORTS)), default="standard", show_default=True, help="Choose how much is run."
)
@SEED
@PYTHON
@click.option("--program", is_flag=True, help="With --report, also print the program of the engine's own library.")
def replay(check: str, engine: str, report: Path | None, *, program: bool, **settings: Any) -> Status:
    """Run one check again, by its id in a report, a summary or pytest's output, and show what is found.

    With --report, run the scenario of the report step by step; CHECK is the id of its check, or its own. A failure of
    one engine can be tried on another in this way. Without --report, the check draws its scenarios again: one profile
    and one seed always give the same scenarios.

    Exit status: 0 nothing fails, 1 something does, 2 wrong usage, 3 the engine could not be started.
    """
    from refgrad.cli.run import replay_check, replay_report
    from refgrad.pytest_plugin import GradeOptions

    if report is None:
        return replay_check(check, GradeOptions(engine=engine, **settings))
    return replay_report(check, engine, report, settings["python"], program=program)


@click.command(short_help="Run a scenario on an engine, step by step.")
@click.argument("file", type=click.File(encoding="utf-8"))
@ENGINE
@PYTHON
@click.option("--program", is_flag=True, help="Also print the scenario as a program of the engine's own library.")
def run(file: TextIO, engine: str, python: str | None, *, program: bool) -> Status:
    """Run the scenario in FILE (- for standard input) on an engine, step by step.

    Exit status: 0 everything is as it must be, 1 something is not, 2 wrong usage, 3 the engine could not be started.
    """
    from refgrad.cli.options import text_of
    from refgrad.cli.run import run_scenario

    return run_scenario(text_of(file), engine, python, program=program)


@click.command(short_help="Print a badge of a report.")
@click.argument("file", metavar="ENGINE.json", type=existing_path)
@click.option("--svg", is_flag=True, help="Print a picture instead.")
def badge(file: Path, *, svg: bool) -> None:
    """Print a badge of a report, as JSON that shields.io takes as an endpoint.

    It is red if a number is silently wrong, orange if other checks of level MUST fail, and green if none fails and all
    were run.
    """
    from refgrad.report.ci import Badge
    from refgrad.report.document import read_report

    label = Badge.of(read_report(file))
    click.echo(label.picture() if svg else json.dumps(label.endpoint()), nl=not svg)


@click.command(short_help="Run the programs of reports without refgrad.")
@click.argument("reports", nargs=-1, required=True, metavar="ENGINE.json...", type=existing_path)
@PYTHON
def confirm(reports: tuple[Path, ...], python: str | None) -> Status:
    """Run the program of each finding in an interpreter of its own, where refgrad cannot be imported.

    A finding is confirmed if its program fails, and gives the number or ends with the exception that the report names.
    It could not be run if the engine cannot be imported. The programs are taken from the files: confirm only files that
    you trust. The exit status is 1 if a finding is not confirmed.
    """
    from refgrad.cli.reports import confirm_reports

    return confirm_reports(reports, python or sys.executable)


@click.command(short_help="Compare reports, or folders of reports.")
@click.argument("old", type=existing_path)
@click.argument("new", type=existing_path)
@click.option(
    "--fail-on",
    type=click.Choice(["nothing", "regression", "any"]),
    default="nothing",
    show_default=True,
    help="The exit status is 1 if a check that held fails, is gone or is not offered now, or if anything differs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with the differences of each pair of reports.")
def diff(old: Path, new: Path, fail_on: Any, *, as_json: bool) -> Status:
    """Compare two reports, or the reports of the same name in two folders: versions, seeds, or engines.

    A check is broken if it passed and fails now, fixed if it failed and passes now, and changed if its verdict differs
    otherwise. If it fails as before, but with an error that is ten times larger or smaller, its accuracy changed.
    """
    from refgrad.cli.reports import show_differences

    return show_differences(old, new, fail_on, as_json=as_json)


@click.command(short_help="Grade the tests of a gradient.")
@click.argument("function", metavar="MODULE:FUNCTION")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--select", default="*", metavar="GLOB", help="Try the faults whose name matches, such as 'scaled*'.")
@click.option("--skip", default="", metavar="GLOB", help="Leave out the faults whose name matches.")
@click.option("--time-limit", type=float, metavar="SECONDS", help="End longer runs [default: 5 clean runs, or 10 s].")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object (specs/schema/mutation.schema.json).")
def mutate(function: str, command: tuple[str, ...], select: str, skip: str, **options: Any) -> Status:
    """Put standard faults into a gradient, one at a time, and show which of them its tests let through.

    COMMAND runs the tests, such as `refgrad mutate mine:Cube -- pytest tests/test_cube.py`. MODULE is a module that
    they import, or the path of its file. FUNCTION is a torch.autograd.Function, a jax.custom_vjp, a
    torch.library.custom_op, or a function that returns gradients. No file is changed: the Python processes of COMMAND
    put the fault around the function after they have imported the module.

    A fault is let through if COMMAND ends with status 0. A run that takes too long counts as seen.

    Exit status: 0 all faults are seen, 1 some are let through, 2 wrong usage, 3 the tests fail without any fault, or
    never call the backward of the function.
    """
    from refgrad.checking.injection import FAULTS
    from refgrad.checking.mutation import GradedSuite
    from refgrad.cli.gradients import grade_tests

    faults = [each for each in FAULTS if fnmatchcase(each.name, select) and not fnmatchcase(each.name, skip)]
    return grade_tests(GradedSuite(function, command), faults, **options)


@click.command(short_help="Write pages about reports.")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=existing_path)
@click.option("--html", type=file_path, metavar="SITE", help="Write a site for the browser there.")
@click.option("--docs", type=existing_path, metavar="DOCS", help="Make pages of the Markdown in this folder, too.")
def report(folders: tuple[Path, ...], html: Path | None, docs: Path | None) -> None:
    """Write pages next to the reports (*.json) in each folder: one for each engine, a matrix, and scripts of findings.

    With --html nothing is written next to the reports. The site needs no network and no server: open its index.html. If
    several folders are given, the site shows the last one, and how its engines changed since the others. With --docs
    the documentation is a part of the site: links between documents lead to their pages.
    """
    from refgrad.cli.reports import write_html, write_reports

    if html is not None:
        write_html(folders, html, docs)
    elif docs is not None:
        raise click.UsageError("--docs needs --html: documents become pages of a site.")
    else:
        write_reports(folders)


@click.command(short_help="Show what a check requires, and why.")
@click.argument("check", metavar="CHECK")
def explain(check: str) -> None:
    """Show what a check requires of an engine, why, the source, and the scenarios or the measurement that test it."""
    from refgrad.cli.listing import explain_check

    explain_check(check)


@click.command(short_help="Remove the compiled templates of C++ engines.")
def clean() -> None:
    """Remove the folders of the temporary directory that hold compiled templates of C++ engines.

    A folder that a running engine uses is kept.
    """
    from refgrad.native.runners.compiled_cache import remove

    removed = remove()
    for path, size in removed.items():
        click.echo(f"removed {path}: {size:,} bytes")
    click.echo(f"{sum(removed.values()):,} bytes removed")


@click.command(name="list", short_help="Show operators, engines, checks or features.")
@click.argument("what", type=click.Choice(get_args(Listed)))
def listing(what: Listed) -> None:
    """Show what there is, one a line: name, signature or version or level, meaning."""
    from refgrad.cli.listing import show_list

    show_list(what)


COMMANDS: Final = (
    accuracy, badge, check, clean, confirm, course, coverage, diff, doctor, explain, grade, listing, mutate, new,
    replay, report, run,
)  # fmt: skip
