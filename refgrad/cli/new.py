"""``refgrad new``: write a first adapter of a library, with templates that were each tried."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from refgrad.cli.failure import Failure, Status, errors_in_one_line
from refgrad.cli.options import PYTHON, file_path
from refgrad.errors import UserError

if TYPE_CHECKING:
    from refgrad.cli.progress import Doing
    from refgrad.grading.first_adapter.library import LibraryModules

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
    from refgrad.report.doctor import grading

    with errors_in_one_line():
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

    with errors_in_one_line(), doing(f"starting {library.name}") as now:
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
