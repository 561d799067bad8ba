"""Findings and verdicts of checks, ordered by severity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from refgrad.facts import Entry, Evidence, Fact
from refgrad.native.statements import Statement, statement_of, statement_row
from refgrad.native.text import plain_text

Outcome = Literal[
    "wrong", "missing", "crashed", "hung", "unexpected-error", "inaccurate", "convention", "inconclusive",
    "unsupported", "passed",
]  # fmt: skip
Level = Literal["MUST", "SHOULD", "MAY"]
Statements: TypeAlias = tuple[Statement, ...]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""All outcomes, worst first."""

FAILURES: frozenset[Outcome] = frozenset(OUTCOMES[: OUTCOMES.index("inaccurate") + 1])
"""Outcomes that are failures of the engine."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a scenario and, if it is not ``passed``, the fact that decided it and the step that showed it."""

    outcome: Outcome
    fact: Fact | None = None
    step: int = 0

    @property
    def failed(self) -> bool:
        """Return True if the outcome is a failure of the engine."""
        return self.outcome in FAILURES

    @property
    def is_mild(self) -> bool:
        """Return True if it is a SHOULD even in a check of level MUST: digits are lost, or a choice ignores NaN."""
        swallowed = isinstance(self.fact, Entry) and self.fact.qualifier == "swallowed"
        return self.outcome == "inaccurate" or (self.outcome == "wrong" and swallowed)

    @property
    def rank(self) -> tuple[int, bool]:
        """Sort key of findings, the most severe first."""
        return OUTCOMES.index(self.outcome), self.is_mild

    @property
    def message(self) -> str:
        """Description of the fact in English, empty without a fact."""
        return "" if self.fact is None else self.fact.message()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An outcome and the scenario that shows it, as text and as a program of the engine's library, if there is one."""

    verdict: Outcome
    message: str = ""
    scenario: str = ""
    scenario_id: str = ""
    reproduction: Statements = ()
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check on an engine.

    ``scenario`` is the text of the scenario that shows it, ``reproduction`` the same as a program of the engine's
    library; both are empty if there is nothing to show. ``examples`` counts the scenarios that were run; ``screened``
    counts those of them that passed the screening of large arrays and were not certified. ``message`` describes
    ``evidence`` for readers; programs use ``evidence``. ``cause`` is the id of the check whose failure prevents a
    result of this one, and ``further`` holds failures of other kinds that the check found, too.
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
    reproduction: Statements = ()
    examples: int = 0
    screened: int = 0
    evidence: Evidence | None = None
    cause: str = ""
    further: tuple[Case, ...] = ()

    def __post_init__(self) -> None:
        """Convert the message to plain text, since it may quote the engine."""
        object.__setattr__(self, "message", plain_text(self.message))

    @property
    def failed(self) -> bool:
        """Return True if the verdict is a failure of the engine."""
        return self.verdict in FAILURES

    @property
    def fact(self) -> Fact | None:
        """The fact of the evidence, or None without evidence."""
        return None if self.evidence is None else self.evidence.fact

    def to_json(self) -> dict[str, Any]:
        """Return the row of a report, without empty members.

        A verdict of ``passed`` or ``unsupported`` has no statement, either.
        """
        row = _case_row(self) | {"further": [_case_row(each) for each in self.further]}
        if self.verdict in {"passed", "unsupported"}:
            del row["statement"]
        return {name: value for name, value in row.items() if value}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Verdict:
        """Return the verdict of a row from ``to_json``. Raises TypeError for unknown or missing members."""
        if not isinstance(row, dict):
            raise TypeError(f"a verdict is an object, not {row!r}")
        further = tuple(Case(**_with_evidence(each)) for each in row.get("further", ()))
        return cls(**{"operator": ""} | _with_evidence(row) | {"further": further})


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of checks that apply to an engine, that fail, and that need something that the engine does not offer."""

    apply: int
    failed: int
    must_failed: int
    not_offered: int

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> Totals:
        """Count verdicts."""
        failed = [verdict for verdict in verdicts if verdict.failed]
        apply = sum(verdict.verdict != "unsupported" for verdict in verdicts)
        return cls(apply, len(failed), sum(verdict.level == "MUST" for verdict in failed), len(verdicts) - apply)

    @property
    def text(self) -> str:
        """Summary in English, e.g. ``of 122 checks that apply 15 fail; 2,529 are not offered``."""
        checks = "1 check that applies" if self.apply == 1 else f"{self.apply:,} checks that apply"
        fail = f"{self.failed:,} fail{'s' * (self.failed == 1)}" if self.failed else "none fails"
        verb = "is" if self.not_offered == 1 else "are"
        return f"of {checks} {fail}" + (f"; {self.not_offered:,} {verb} not offered" if self.not_offered else "")


def members(case: Case | Verdict, kind: type[Case | Verdict] = Case) -> dict[str, Any]:
    """Return the members that the kind has, by name."""
    return {each.name: getattr(case, each.name) for each in fields(kind)}


def _case_row(case: Case | Verdict) -> dict[str, Any]:
    evidence = None if case.evidence is None else case.evidence.to_json()
    return members(case, type(case)) | {
        "evidence": evidence,
        "reproduction": [statement_row(each) for each in case.reproduction],
    }


def _with_evidence(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its evidence and the statements of its program as objects."""
    evidence = row.get("evidence")
    return row | {
        "evidence": None if evidence is None else Evidence.from_json(evidence),
        "reproduction": tuple(map(statement_of, row.get("reproduction", ()))),
    }


def merged(one: Verdict, other: Verdict) -> Verdict:
    """Return the worse verdict of two searches of one check, with the failures of the other added to ``further``."""
    first, second = sorted((one, other), key=lambda each: OUTCOMES.index(each.verdict))
    further = (*first.further, Case(**members(second)), *second.further) if second.failed else first.further
    return replace(first, further=further, examples=first.examples + second.examples)


def worst(findings: Iterable[Finding]) -> Finding:
    """Return the most severe finding; ``passed`` if there is none."""
    return min(findings, key=lambda finding: finding.rank, default=Finding("passed"))
