"""Failures of commands: a message of one line, and an exit status for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
