"""What the checks about one operator share, and what they need to know of operators."""

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
"""How many scenarios a check tries, at most, of operands without axes: a piecewise formula may be flat at some."""


@dataclass(frozen=True, slots=True)
class CheckOfOperator(Check):
    """``CHAPTER/NAME``, a level, and what is held against the engine."""

    operator: Operator

    CHAPTER: ClassVar[str]
    CLAIM: ClassVar[str]
    LEVEL: ClassVar[Level] = "MUST"

    @property
    def id(self) -> str:
        """``CHAPTER/NAME``."""
        return f"{self.CHAPTER}/{self.operator.name}"

    @property
    def level(self) -> Level:
        """The chapter's."""
        return self.LEVEL

    @property
    def statement(self) -> str:
        """What is held against the engine."""
        return f"{self.operator.name}: {self.CLAIM}"

    @property
    def operator_name(self) -> str:
        """The operator's."""
        return self.operator.name

    @property
    def draws(self) -> bool:
        """Whether scenarios are drawn: in all checks of operators."""
        return True

    def tried(  # noqa: PLR0913 (each of them is the check's to say)
        self,
        make: Callable[[int, Profile], Scenario],
        profile: Profile,
        bench: Bench,
        examples: int,
        cause: str,
        *,
        certain: Iterable[Scenario] = (),
    ) -> Verdict:
        """Try scenarios without axes and those that are ``certain``, and then so many that are drawn.

        ``cause`` is why they leave something out.
        """
        given = [*self.of_single_numbers(make, profile, bench, examples), *certain]
        return bench.search(self, lambda seed: make(seed, profile), examples, given=given, cause=cause)

    def always(
        self, make: Callable[..., tuple[Scenario, ...]], profile: Profile, bench: Bench, **options: Any
    ) -> tuple[Scenario, ...]:
        """Return what ``make`` gives of the operator's corners whatever the seed; nothing in the smoke profile."""
        effort = bench.settings.effort
        return make(self.operator.name, profile, effort.corners, **options) if effort.large_arrays else ()

    def of_single_numbers(
        self, make: Callable[[int, Profile], Scenario], profile: Profile, bench: Bench, examples: int
    ) -> list[Scenario]:
        """Return scenarios whose operands have no axes, which few of those drawn are; none where they must have some.

        A formula is all that may be applied to them whatever its attributes are. ``examples`` says how many scenarios
        are drawn besides.
        """
        single, count = replace(profile, max_rank=0), min(SINGLE_NUMBERS, max(1, examples // 2))
        seeds = range(bench.settings.seed, bench.settings.seed + count)
        return [make(seed, single) for seed in seeds] if self.operator.elementwise else []


def faults(verdict: Verdict) -> list[Scenario]:
    """Return the scenarios that show what is wrong with an operator, and not merely inaccurate."""
    shown = [(verdict.verdict, verdict.scenario), *((each.verdict, each.scenario) for each in verdict.further)]
    return [parse(text) for outcome, text in shown if outcome not in {"inaccurate", "passed"}] if verdict.failed else []


def is_broken(verdict: Verdict) -> bool:
    """Whether what an operator gets wrong cannot be avoided where it is used."""
    return any(not AVOIDABLE & rare_ingredients(scenario) for scenario in faults(verdict))


@dataclass(frozen=True, slots=True)
class Avoided:
    """Ingredients that scenarios are drawn without, and the check that says why."""

    cause: str = ""
    ingredients: frozenset[str] = frozenset()

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Avoided:
        """Return what some operators get wrong and others of their scenarios do without."""
        for verdict in verdicts:
            met = [AVOIDABLE & rare_ingredients(scenario) for scenario in faults(verdict)]
            if any(met):
                return cls(verdict.id, frozenset().union(*met))
        return cls()

    @property
    def fields(self) -> dict[str, float]:
        """The fields of a profile that leaves them out."""
        return {"empty": 0.0} if EMPTY in self.ingredients else {}

    def allows(self, scenario: Scenario) -> bool:
        """Whether a scenario has none of them."""
        return not self.ingredients & rare_ingredients(scenario)


def is_known_inaccuracy(scenario: Scenario, finding: Finding, verdicts: Iterable[Verdict]) -> bool:
    """Whether an inaccurate result is made with an operator whose own check has found it inaccurate."""
    if finding.outcome != "inaccurate":
        return False
    return any(v.verdict == "inaccurate" and v.operator in scenario.operators for v in verdicts)
