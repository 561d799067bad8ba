"""What every check is: an id, a level, a statement that is held against the engine, and a way to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench


class Check(Protocol):
    """A check, which runs on a bench."""

    @property
    def id(self) -> str:
        """``CHAPTER/NAME``."""
        raise NotImplementedError

    @property
    def level(self) -> Level:
        """How bad it is to fail it."""
        raise NotImplementedError

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        raise NotImplementedError

    def run(self, bench: Bench) -> Verdict:
        """Hold it against the engine."""
        raise NotImplementedError

    @property
    def chapter(self) -> str:
        """The first part of the id."""
        return self.id.partition("/")[0]

    @property
    def operator_name(self) -> str:
        """The operator that it is about, empty if it is about none."""
        return ""

    @property
    def draws(self) -> bool:
        """Whether scenarios are drawn, so that what failed once is kept for every later run."""
        return False

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return a scenario that failed this check on some engine as it tries it here; None where it says nothing."""
        return bench.reliance.seeded(scenario)

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (some families ask)
        """Whether a failure is this check's; what another check is about is that one's to tell."""
        return True

    def excuses(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (some families ask)
        """Whether a failure is no more than what is known of an operator that is merely inaccurate."""
        return False
