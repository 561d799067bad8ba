"""Options that several commands share."""

from __future__ import annotations

import os
from typing import Final

import click

from refgrad.cli.parameters import engine_name, file_path
from refgrad.grading.checks.settings import EFFORTS

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
