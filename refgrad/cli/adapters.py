"""``refgrad new`` and ``doctor``: write a first adapter of a library, and try every template of adapters."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from refgrad.cli.failure import Failure, Status
from refgrad.cli.options import PYTHON, engine_name, file_path
from refgrad.errors import UserError
from refgrad.native.text import plain_line, plain_text

if TYPE_CHECKING:
    from refgrad.cli.progress import Doing
    from refgrad.grading.first_adapter.library import LibraryModules
    from refgrad.grading.trials import TemplateTrial

NEEDED: Final[Mapping[str, Sequence[str]]] = {"kind": ("leaf", "value", "backward", "gradient")}
"""Fields to supply with --set for a question that is not itself a field of adapters."""

MEANINGS: Final[Mapping[str, str]] = {
    "leaf": "how a tensor is made",
    "value": "how a tensor is read as an array",
    "kind": "what is differentiated: what a tape recorded, or a function",
    "backward": "how a backward is run",
    "gradient": "how the gradient of a leaf is read",
    "vjp": "how the output of a function and its pullback are made",
}
"""Descriptions of the fields that the user is asked for."""

KEPT: Final = "a further backward of a graph also sends what results kept of the first, as micrograd's does: not graded"
"""Note on an engine whose results keep their gradients."""


@click.command(short_help="Write a first adapter of a library or file in Python.")
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option("--name", metavar="NAME", help="The engine's name in reports [default: of the first module].")
@click.option("--output", type=file_path, metavar="FILE", help="The file to write [default: NAME.toml].")
@PYTHON
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="FIELD=TEMPLATE",
    help="What a field says, such as 'leaf=me.T({array})', or how an operator is spelled: 'operators.exp=me.e({x})'.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: take what was found.")
def new(modules: Sequence[str], name: str | None, output: Path | None, python: str | None, **answers: Any) -> None:
    """Write a first adapter of a library in Python: MODULE is imported, and further ones have more of its functions.

    A file is given by its path, such as ./mine.py.

    What libraries usually call their functions is tried at once, on numbers, vectors, matrices and empty arrays, and
    what shows the right values is taken. You are asked about what matters; what was found is the default. It takes a
    minute. Exit status: 0 the file is written, 2 wrong usage or something is not found, 3 the library cannot be
    imported.
    """
    from refgrad.grading.first_adapter.library import LibraryModules

    library = LibraryModules.of(modules, name, python or sys.executable)
    path = output or Path(f"{library.name}.toml")
    if path.exists():
        raise Failure(f"{path} is there already; name another file with --output", Status.WRONG_USAGE)
    write_adapter(library, path, **answers)
    shortest = path if path.is_absolute() else f"./{path}"
    click.echo(f"next: refgrad doctor {shortest}{f' --python {python}' if python else ''}")
    click.echo(f"then: {grading(str(shortest), python)}")


def write_adapter(library: LibraryModules, path: Path, options: Sequence[str] = (), *, yes: bool) -> None:
    """Write the adapter of a library, and print its suspected faults and the operators that were left out."""
    from refgrad.cli.progress import doing
    from refgrad.grading.first_adapter.candidates import Asking, read_options
    from refgrad.grading.first_adapter.choosing import choose
    from refgrad.grading.first_adapter.writing import engine_file
    from refgrad.grading.trials import sends_kept_gradients_again, without_arrays

    with doing(f"starting {library.name}") as now:
        ask = partial(_required, library) if yes else partial(_asked, now, library)
        asking = Asking(ask, read_options(options), now.report)
        chosen = choose(library, asking)
        text = engine_file(chosen)
        path.write_text(text, encoding="utf-8")
    operators = chosen.started.operators
    why = {
        name: f"`{spelled.partition(' if (')[0]}` gives other numbers or shapes"
        for name, spelled in chosen.unlike.items()
    }
    for fault in (*chosen.faults, *(f"suspected fault in {name}: {why[name]}" for name in why if name in operators)):
        click.echo(fault)
    click.echo(f"{path}: {len(text.splitlines())} lines, {len(operators)} operators")
    for name in (name for name in why if name not in operators):
        click.echo(f"left out: operators/{name}: {why[name]}")
    if chosen.untaught:
        click.echo(f"left out, as no gradient comes back: {', '.join(chosen.untaught)}")
        click.echo(f"  of most, this came back: {chosen.instead}")
    if untried := without_arrays(chosen.started):
        click.echo(f"note: {untried}")
    if sends_kept_gradients_again(chosen.started):
        click.echo(f"note: {KEPT}")
    chosen.started.runner.stop()


def _asked(now: Doing, library: LibraryModules, field: str, known: str | None) -> str:
    hint = "" if known else f" (such as {_example(library, field)})"
    text = f"{field}, {MEANINGS[field]}{hint}"
    with now.paused():
        answer: str = click.prompt(text, default=known or "", show_default=bool(known), err=True)
    return answer or _required(library, field, None)


def _required(library: LibraryModules, field: str, known: str | None) -> str:
    """Return the template for a field. Raises UserError if none was found, with a command that supplies it."""
    from refgrad.grading.first_adapter.candidates import DIRECTIONS

    if known is None:
        options = (f" --set '{name}={_example(library, name)}'" for name in NEEDED.get(field, [field]))
        raise UserError(
            f"nothing that was tried works for {field}, {MEANINGS[field]}; say it, such as "
            f"`refgrad new {shlex.join(library.sources)}{''.join(options)}`; {DIRECTIONS.get(field, '')}"
            "functions of your own that this calls go into --set 'setup=...', behind the imports"
        )
    return known


def _example(library: LibraryModules, field: str) -> str:
    from refgrad.native.adapter.adapter import KINDS
    from refgrad.native.adapter.fields import rows

    known = {name: row.example for kind in KINDS.values() for name, row in rows(kind).items()}
    return str(known.get(field, "tape, or functional")).replace("me.", f"{library.modules[0]}.")


@click.command(short_help="Try every template of adapters once.")
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...", type=engine_name)
@PYTHON
@click.option("--program", is_flag=True, help="Also print the whole program of each trial that fails.")
def doctor(engines: tuple[str, ...], python: str | None, *, program: bool) -> Status:
    """Try every template of adapters once: on a number, a vector, a matrix and an array without entries.

    Of each that fails it says what was run, what came back and how to mend it. Exit status: 0 all work, 1 some fail,
    2 wrong usage, 3 an engine could not be started.
    """
    from refgrad.cli.progress import doing
    from refgrad.grading.trials import start, suspected_faults, trials

    failed = False
    for name in engines:
        with doing(f"starting {name}") as now:
            engine = start(name, python or sys.executable)
            tried = []
            for trial in trials(engine):
                now.report(f"tried {', '.join(trial.fields)} on {trial.kind}")
                tried.append(trial)
            faults = suspected_faults(engine)
        click.echo(doctor_text(name, tried, program=program, python=python, faults=faults))
        failed = failed or bool(faults) or any(trial.failed for trial in tried)
    return Status.FAILED if failed else Status.PASSED


def doctor_text(
    name: str, trials: Sequence[TemplateTrial], *, program: bool, python: str | None = None, faults: Sequence[str] = ()
) -> str:
    """Return the suspected faults, the failed trials grouped by template, and the next command."""
    from refgrad.grading.trials import without_arrays
    from refgrad.report import CHARACTERS
    from refgrad.report.pages import markdown_templates

    failed = (trial for trial in trials if trial.failed)
    groups = [list(group) for _, group in groupby(failed, key=lambda trial: tuple(trial.fields.items()))]
    templates = markdown_templates()
    templates.filters |= {"line": plain_line, "text": plain_text, "ran": _ran}
    return templates.get_template("doctor.txt.jinja").render(
        name=name, trials=trials, faults=faults, groups=groups, program=program, next=grading(name, python),
        tried=len({item for trial in trials for item in trial.fields.items()}), characters=CHARACTERS,
        untried=without_arrays(trials[0].engine) if trials else "",
    ).removesuffix("\n")  # fmt: skip


def _ran(trial: TemplateTrial) -> list[str]:
    """Return the lines of the step that failed, in the engine's own language."""
    from refgrad.report import CHARACTERS, ITEMS

    at = max(trial.finding.step - 1, 0)
    statements = trial.engine.program(trial.scenario).groups[at]
    text = "\n".join(line for statement in statements for line in trial.engine.adapter.syntax.lines(statement))
    most = CHARACTERS["doctor_line"]
    cut = [line if len(line) <= most else f"{line[:most]} ..." for line in text.split("\n") if line.strip()]
    return cut[-ITEMS["doctor_lines"] :] or [trial.scenario.steps[at].to_text()]


def grading(name: str, python: str | None) -> str:
    """Return the command that grades an engine for the first time, in the interpreter that has it."""
    return f"refgrad grade {name}{f' --python {python}' if python else ''} --profile smoke --output out"
