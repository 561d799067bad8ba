"""The protocol of checks, and regressions: scenarios that some engine failed, by check.

A check tries its regressions on every engine and with every seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench


class Check(Protocol):
    """A check, which runs in a grading session."""

    @property
    def id(self) -> str:
        """Id of the check, ``CHAPTER/NAME``."""
        raise NotImplementedError

    @property
    def level(self) -> Level:
        """Level of the statement: the severity of a failure."""
        raise NotImplementedError

    @property
    def statement(self) -> str:
        """Statement that the engine must fulfil."""
        raise NotImplementedError

    def run(self, bench: Bench) -> Verdict:
        """Run the check and return its verdict."""
        raise NotImplementedError

    @property
    def chapter(self) -> str:
        """First part of the id."""
        return self.id.partition("/")[0]

    @property
    def operator_name(self) -> str:
        """Name of the operator that the check is about, or an empty string."""
        return ""

    @property
    def draws(self) -> bool:
        """Return True if the check draws scenarios, so that those that fail are kept for every later run."""
        return False

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return a regression of this check in the form in which it is tried here, or None if it does not apply."""
        return bench.reliance.seeded(scenario)

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if this check should report the failure, rather than another check."""
        return True

    def explains(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if a known inaccuracy of an operator explains the failure."""
        return False


FOLDER: Final = "regressions"
"""Folder of ``specs/`` with a file for each chapter: by check, tables of a scenario and an engine that failed it."""


class RegressionError(UserError):
    """A file of regressions is malformed; the message names the file and the check."""


def regressions(check: str) -> tuple[Scenario, ...]:
    """Return the scenarios that some engine failed in a check. Raises RegressionError if one is malformed."""
    chapter, _, name = check.partition("/")
    rows = _chapter(chapter).get(name, ())
    return tuple(_scenario(check, row) for row in rows)


@cache
def _chapter(chapter: str) -> Mapping[str, Any]:
    path = specs_directory() / FOLDER / f"{chapter}.toml"
    return read_toml(path, "regressions", RegressionError) if path.exists() else {}


def _scenario(check: str, row: Mapping[str, str]) -> Scenario:
    try:
        return parse(row["scenario"])
    except ScenarioError as error:
        raise RegressionError(f"{FOLDER}/{check.partition('/')[0]}.toml: {check}: {error}") from error
