"""Base class of the checks of one operator, and what verdicts show about an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from refgrad.generation import Profile
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.isolation.ingredients import AVOIDABLE, EMPTY, rare_ingredients
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.operators import Operator
from refgrad.scenario import Scenario, parse

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

SINGLE_NUMBERS: Final = 4
"""Largest number of scenarios with 0-d operands in a check. A piecewise formula may be flat at some of them."""


@dataclass(frozen=True, slots=True)
class CheckOfOperator(Check):
    """Base class of the checks of one operator, with a chapter, a level and a claim for each subclass."""

    operator: Operator

    CHAPTER: ClassVar[str]
    CLAIM: ClassVar[str]
    LEVEL: ClassVar[Level] = "MUST"

    @property
    def id(self) -> str:
        """Id of the check, ``CHAPTER/NAME``."""
        return f"{self.CHAPTER}/{self.operator.name}"

    @property
    def level(self) -> Level:
        """Level of the chapter."""
        return self.LEVEL

    @property
    def statement(self) -> str:
        """Statement that the engine must fulfil."""
        return f"{self.operator.name}: {self.CLAIM}"

    @property
    def operator_name(self) -> str:
        """Name of the operator."""
        return self.operator.name

    @property
    def draws(self) -> bool:
        """Return True. Checks without drawn scenarios override this."""
        return True

    def tried(  # noqa: PLR0913 (the check chooses each of them)
        self,
        make: Callable[[int, Profile], Scenario],
        profile: Profile,
        bench: Bench,
        examples: int,
        cause: str,
        *,
        certain: Iterable[Scenario] = (),
    ) -> Verdict:
        """Try scenarios with 0-d operands and the ``certain`` ones, then ``examples`` drawn ones.

        ``cause`` is the id of the check because of which the scenarios leave something out.
        """
        given = [*self.of_single_numbers(make, profile, bench, examples), *certain]
        return bench.search(self, lambda seed: make(seed, profile), examples, given=given, cause=cause)

    def always(
        self, make: Callable[..., tuple[Scenario, ...]], profile: Profile, bench: Bench, **options: Any
    ) -> tuple[Scenario, ...]:
        """Return the scenarios that ``make`` derives from the operator's fixed cases; none in the smoke profile."""
        effort = bench.settings.effort
        return make(self.operator.name, profile, effort.corners, **options) if effort.large_arrays else ()

    def of_single_numbers(
        self, make: Callable[[int, Profile], Scenario], profile: Profile, bench: Bench, examples: int
    ) -> list[Scenario]:
        """Return scenarios with 0-d operands, which are rarely drawn; none if the operator is not elementwise.

        Only formulas apply to 0-d operands whatever the attributes are. ``examples`` is the number of scenarios that
        are drawn in addition.
        """
        single, count = replace(profile, max_rank=0), min(SINGLE_NUMBERS, max(1, examples // 2))
        seeds = range(bench.settings.seed, bench.settings.seed + count)
        return [make(seed, single) for seed in seeds] if self.operator.elementwise else []


def faults(verdict: Verdict) -> list[Scenario]:
    """Return the scenarios that show failures of an operator other than inaccuracy."""
    shown = [(verdict.verdict, verdict.scenario), *((each.verdict, each.scenario) for each in verdict.further)]
    return [parse(text) for outcome, text in shown if outcome not in {"inaccurate", "passed"}] if verdict.failed else []


def is_broken(verdict: Verdict) -> bool:
    """Return True if the failures of an operator cannot be avoided where it is used."""
    return any(not AVOIDABLE & rare_ingredients(scenario) for scenario in faults(verdict))


@dataclass(frozen=True, slots=True)
class Avoided:
    """Ingredients that drawn scenarios avoid, and the id of the check that is the reason."""

    cause: str = ""
    ingredients: frozenset[str] = frozenset()

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Avoided:
        """Return the avoidable ingredients of the first verdict whose failures have any."""
        for verdict in verdicts:
            met = [AVOIDABLE & rare_ingredients(scenario) for scenario in faults(verdict)]
            if any(met):
                return cls(verdict.id, frozenset().union(*met))
        return cls()

    @property
    def fields(self) -> dict[str, float]:
        """Fields of a profile that excludes the ingredients."""
        return {"empty": 0.0} if EMPTY in self.ingredients else {}

    def allows(self, scenario: Scenario) -> bool:
        """Return True if a scenario has none of the ingredients."""
        return not self.ingredients & rare_ingredients(scenario)


def is_known_inaccuracy(scenario: Scenario, finding: Finding, verdicts: Iterable[Verdict]) -> bool:
    """Return True if an inaccurate result uses an operator whose own check has found it inaccurate."""
    if finding.outcome != "inaccurate":
        return False
    return any(v.verdict == "inaccurate" and v.operator in scenario.operators for v in verdicts)
