"""The protocol of checks: an id, a level, a statement about the engine, and a method that runs the check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.scenario import Scenario

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
