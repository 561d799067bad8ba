"""What can a check find, and how bad is it?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from refgrad.native.text import plain_text

Outcome = Literal[
    "wrong", "missing", "crashed", "hung", "unexpected-error", "inaccurate", "convention", "inconclusive",
    "unsupported", "passed",
]  # fmt: skip
Level = Literal["MUST", "SHOULD", "MAY"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""All outcomes, worst first."""

FAILURES: frozenset[Outcome] = frozenset(OUTCOMES[: OUTCOMES.index("inaccurate") + 1])
"""The outcomes that say that an engine does not do what it should."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a scenario showed: an outcome, and where it is not ``passed``, at which step and why.

    ``of_seed`` says that it is a seed that is not what it was.
    """

    outcome: Outcome
    message: str = ""
    step: int = 0
    of_seed: bool = False

    @property
    def failed(self) -> bool:
        """Whether the engine is at fault."""
        return self.outcome in FAILURES


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found on an engine.

    ``scenario`` is the text of the scenario that shows it, ``reproduction`` the same as a program of the engine's
    library, both empty where there is nothing to show; ``examples`` counts the scenarios that were run. ``cause`` is
    the id of the check whose failure keeps this one from saying more.
    """

    id: str
    chapter: str
    operator: str
    level: Level
    verdict: Outcome
    statement: str = ""
    message: str = ""
    scenario: str = ""
    scenario_id: str = ""
    reproduction: str = ""
    examples: int = 0
    cause: str = ""

    def __post_init__(self) -> None:
        """Make the message plain: an engine's own words may be in it."""
        object.__setattr__(self, "message", plain_text(self.message))

    @property
    def failed(self) -> bool:
        """Whether the engine is at fault."""
        return self.verdict in FAILURES

    def to_json(self) -> dict[str, Any]:
        """Return the row of a report."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Verdict:
        """Read what ``to_json`` returns. Raises TypeError for unknown or missing members."""
        return cls(**row)


def worst(findings: list[Finding]) -> Finding:
    """Return the most severe finding; ``passed`` if there is none."""
    return min(findings, key=lambda finding: OUTCOMES.index(finding.outcome), default=Finding("passed"))
