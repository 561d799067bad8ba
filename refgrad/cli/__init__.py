"""The command ``refgrad``, a front end of the checks that pytest runs.

Exit statuses: 0 every check has a verdict and every MUST holds, 1 some do not hold, 2 wrong usage, 3 an engine could
not be started, 4 a check has no verdict, or results cannot be written; 129, 130, 131 or 143 a signal ended the run:
SIGHUP, SIGINT, SIGQUIT or SIGTERM.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from refgrad.cli.commands import COMMANDS
from refgrad.cli.failure import Commands

WITH_DEFAULTS: Final = frozenset({"course", "grade", "replay"})
"""Commands whose options have defaults in pyproject.toml."""


@click.group(cls=Commands, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="refgrad")
@click.pass_context
def main(context: click.Context) -> None:
    """Hold automatic differentiation engines against what must happen."""
    if context.invoked_subcommand in WITH_DEFAULTS:
        from refgrad.grading.settings import read_defaults

        context.default_map = {str(context.invoked_subcommand): read_defaults(Path())}
