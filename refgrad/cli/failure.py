"""Failures, progress and options that commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, TextIO

import click
import rich.console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn
from rich.segment import Segment

from refgrad.errors import EngineStartError, UserError
from refgrad.grading.checks.check import EFFORTS
from refgrad.native.engine_names import unknown_engine
from refgrad.native.text import escaped, plain_line, plain_streams


class Status(IntEnum):
    """The exit statuses of ``refgrad``."""

    PASSED = 0
    FAILED = 1
    WRONG_USAGE = 2
    CANNOT_START = 3
    BROKEN = 4
    HANGUP = 129
    INTERRUPTED = 130
    QUIT = 131
    TERMINATED = 143


class Failure(click.ClickException):
    """Exception that ends a command with one line on stderr and a status."""

    def __init__(self, message: str, status: Status) -> None:
        super().__init__(plain_line(message))
        self.status = status
        self.exit_code = int(status)  # type: ignore[misc]  # as click documents


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Convert errors that a user can fix to Failure, which prints one line."""
    try:
        yield
    except EngineStartError as error:
        raise Failure(str(error), Status.CANNOT_START) from error
    except SystemExit as error:  # raised by foreign code: an adapter's module, or its setup
        raise Failure(f"the engine ended the process with status {error.code}", Status.CANNOT_START) from error
    except (UserError, OSError) as error:
        raise Failure(str(error), Status.WRONG_USAGE) from error


class Commands(click.Group):
    """A group of commands that print one line if interrupted, for invalid input, or if a file cannot be accessed."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command with control characters escaped in all that it prints."""
        with plain_streams():
            return super().main(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raise Failure for an interrupt, a UserError, or an OSError other than BrokenPipeError."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Failure("interrupted", Status.INTERRUPTED) from error
        except BrokenPipeError:
            raise
        except UserError as error:
            raise Failure(str(error), Status.WRONG_USAGE) from error
        except OSError as error:
            raise Failure(str(error), Status.BROKEN) from error


class Console(rich.console.Console):
    """A console of rich that sends its own control codes to the terminal, but escapes those in the printed texts."""

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        """Write to standard output, or to standard error."""
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream), **options)

    def render(self, renderable: Any, options: rich.console.ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of a printed object, with control characters in their texts escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


@dataclass(frozen=True, slots=True)
class Doing:
    """A line with the current activity, which is not shown if standard error is not a terminal."""

    _progress: Progress
    _task: TaskID

    def report(self, text: str) -> None:
        """Show the next activity."""
        self._progress.update(self._task, description=text, refresh=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the line while the user is prompted."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


@contextmanager
def doing(text: str) -> Iterator[Doing]:
    """Show a line with the current activity until the end of the context."""
    with passing_line(SpinnerColumn(), TextColumn("{task.description}", markup=False)) as progress:
        yield Doing(progress, progress.add_task(text, total=None))


def passing_line(*columns: ProgressColumn) -> Progress:
    """Return a line of these columns, which is not shown if standard error is not a terminal."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


LONGEST_SCENARIO: Final = 4_000_000
"""Largest number of characters of a scenario. One of 100,000 entries, the most that are shown, has 2,500,000."""


def engine_name(text: str) -> str:
    """Return the name of an engine. Raises Failure if no engine has it."""
    if problem := unknown_engine(text):
        raise Failure(problem, Status.WRONG_USAGE)
    return text


def file_path(text: str | Path) -> Path:
    """Return a path that was typed, or is a default. Raises BadParameter if it cannot be the name of a file."""
    if "\0" in str(text):
        raise click.BadParameter(f"{plain_line(str(text))!r} is no name of a file")
    return Path(text)


def existing_path(text: str) -> Path:
    """Return the path of a file or folder. Raises Failure if there is none, BadParameter if the path is invalid."""
    path = file_path(text)
    try:
        exists = path.exists()
    except OSError:
        exists = False
    if not exists:
        raise Failure(f"{path}: there is no such file or folder", Status.WRONG_USAGE)
    return path


def text_of(file: TextIO) -> str:
    """Return the text of a file. Raises Failure if it is not UTF-8 or is too long."""
    try:
        text = file.read(LONGEST_SCENARIO + 1)
    except UnicodeDecodeError as error:
        raise Failure(f"{file.name} is not a text in UTF-8: {error.reason}", Status.WRONG_USAGE) from error
    if len(text) > LONGEST_SCENARIO:
        raise Failure(f"{file.name} has more than {LONGEST_SCENARIO:,} characters", Status.WRONG_USAGE)
    return text


MOST_WORKERS: Final = 8

PYTHON: Final = click.option(
    "--python",
    metavar="PATH",
    help="Use the interpreter that has the engine; it needs no refgrad [default: this one].",
)
"""Option for the Python interpreter that has the engine."""

OUTPUT: Final = click.option(
    "--output",
    type=file_path,
    metavar="DIR",
    default="out",
    show_default=True,
    help="Write what is found into this folder.",
)
"""Option for the folder of reports."""

PROFILE: Final = click.option(
    "--profile",
    type=click.Choice(list(EFFORTS)),
    help="Choose how much is run [default: standard, without an adapter smoke].",
)
"""Option for the profile, which determines how much is run."""

SEED: Final = click.option("--seed", type=int, default=0, show_default=True, help="Draw every scenario from this seed.")
"""Option for the seed of all scenarios."""

WORKERS: Final = click.option(
    "--workers",
    type=click.IntRange(1),
    default=lambda: min(os.cpu_count() or 2, MOST_WORKERS),
    show_default=f"one a core, at most {MOST_WORKERS}",
    help="Grade in so many processes.",
)
"""Option for the number of processes that grade."""

ENGINE: Final = click.option(
    "--engine",
    required=True,
    metavar="NAME",
    type=engine_name,
    help="Run it on this engine, named as in `refgrad grade`.",
)
"""Option for the engine to run on."""
