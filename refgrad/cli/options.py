"""Options that several commands have."""

from __future__ import annotations

from typing import Final

import click

PYTHON: Final = click.option(
    "--python",
    metavar="PATH",
    help="Use the interpreter that has the engine; it needs no refgrad [default: this one].",
)
"""The interpreter that has an engine."""
