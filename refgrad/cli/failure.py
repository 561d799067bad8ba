"""Failures of commands: a message of one line, and an exit status for scripts."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import click

from refgrad.errors import EngineStartError, UserError
from refgrad.native.text import plain_line, plain_streams


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


def failure_of(error: BaseException) -> Failure:
    """Return the failure by which an error ends a command."""
    match error:
        case KeyboardInterrupt():
            return Failure("interrupted", Status.INTERRUPTED)
        case SystemExit():  # raised by foreign code: an adapter's module, or its setup
            return Failure(f"the engine ended the process with status {error.code}", Status.CANNOT_START)
        case EngineStartError():
            return Failure(str(error), Status.CANNOT_START)
        case UserError() | FileNotFoundError():  # e.g. the command of `refgrad mutate` does not exist
            return Failure(str(error), Status.WRONG_USAGE)
        case OSError():
            return Failure(str(error), Status.BROKEN)
    return Failure(repr(error), Status.BROKEN)


class Commands(click.Group):
    """A group of commands that return their status, and print one line if interrupted or for an error of the user."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command with control characters escaped in all that it prints."""
        with plain_streams():
            return super().main(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and exit with the status that it returns.

        Raise Failure for an interrupt, an error that a user can fix, or an OSError other than BrokenPipeError.
        """
        try:
            status = super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (KeyboardInterrupt, SystemExit, EngineStartError, UserError, OSError) as error:
            raise failure_of(error) from error
        ctx.exit(status or Status.PASSED)
