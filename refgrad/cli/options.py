"""Options that several commands share, and types of arguments that reject invalid names and paths at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, TextIO

import click

from refgrad.cli.failure import Failure, Status
from refgrad.grading.settings import EFFORTS
from refgrad.native.engine_names import unknown_engine
from refgrad.native.text import plain_line

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

PYTHON: Final = click.option("--python", metavar="PATH", help="Use the interpreter of the engine; it needs no refgrad.")
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

PROFILE: Final = click.option("--profile", type=click.Choice(list(EFFORTS)), help="Choose how much is run.")
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

ENGINE: Final = click.option("--engine", required=True, metavar="NAME", type=engine_name, help="Run it on this engine.")
"""Option for the engine to run on."""
