"""How does a command end that cannot do what it was told? With one line, and an exit status for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import click

from refgrad.harness import AdapterError, EngineStartError, JournalError
from refgrad.pytest_plugin.plan import PlanError
from refgrad.report import ReportError
from refgrad.scenario import ScenarioError


class Status(IntEnum):
    """The exit statuses of ``refgrad``."""

    PASSED = 0
    FAILED = 1
    WRONG_USAGE = 2
    CANNOT_START = 3
    BROKEN = 4
    INTERRUPTED = 130


class Failure(click.ClickException):
    """Ends a command with one line on stderr and a status."""

    def __init__(self, message: str, status: Status) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status
        self.exit_code = int(status)  # type: ignore[misc]  # as click documents


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Turn the errors that a user can do something about into one line each."""
    try:
        yield
    except EngineStartError as error:
        raise Failure(str(error), Status.CANNOT_START) from error
    except (AdapterError, JournalError, PlanError, ReportError, ScenarioError, OSError) as error:
        raise Failure(str(error), Status.WRONG_USAGE) from error
