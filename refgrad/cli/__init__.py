"""The command ``refgrad``, a front end of the checks that pytest runs.

Exit statuses: 0 every check has a verdict and every MUST holds, 1 some do not hold, 2 wrong usage, 3 an engine could
not be started, 4 a check has no verdict, or results cannot be written; 129, 130, 131 or 143 a signal ended the run:
SIGHUP, SIGINT, SIGQUIT or SIGTERM.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from refgrad.cli.commands import COMMANDS
from refgrad.cli.failure import Failure, Status
from refgrad.errors import UserError
from refgrad.native.text import plain_streams

WITH_DEFAULTS: Final = frozenset({"course", "grade", "replay"})
"""Commands whose options have defaults in pyproject.toml."""


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


@click.group(cls=Commands, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="refgrad")
@click.pass_context
def main(context: click.Context) -> None:
    """Hold automatic differentiation engines against what must happen."""
    if context.invoked_subcommand in WITH_DEFAULTS:
        from refgrad.grading.defaults import read_defaults

        context.default_map = {str(context.invoked_subcommand): read_defaults(Path())}
