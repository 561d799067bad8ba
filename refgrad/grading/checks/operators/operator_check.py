"""Base class of the checks of one operator, what verdicts show about an operator, and attribution to views."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from refgrad.generation import LAYOUTS, Profile
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.isolation import AVOIDABLE, EMPTY, applications_alone, rare_ingredients
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.interpreter import Float64, evaluate
from refgrad.native.observation import Array
from refgrad.operators import Operator
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Read, Scenario, parse

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

SINGLE_NUMBERS: Final = 4
"""Largest number of scenarios with 0-d operands in a check. A piecewise formula may be flat at some of them."""

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refgrad.grading.reliance import Reliance

SEEING: frozenset[str] = frozenset({"sum", *LAYOUTS})
"""Operators through which operands become views, or an output's cotangent becomes one number repeated."""

PRODUCT = "multiply"
"""Operator that multiplies a view by itself, so that the result has a second derivative."""


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


def views_are_right(scenario: Scenario, operator: str, check: str, reliance: Reliance) -> bool:
    """Return True if the views in an operator's scenario are right without it, to the order of the scenario."""
    names = sorted(SEEING & scenario.operators - {operator})
    alone = [each for name in names for each in _alone(scenario, name)]
    return not any(reliance.examined(reliance.seeded(each), check).failed for each in alone if reliance.runnable(each))


def _alone(scenario: Scenario, name: str) -> Iterator[Scenario]:
    yield from applications_alone(scenario, name)
    if scenario.gradients:
        values = evaluate(scenario, Float64())
        for step in scenario.applications:
            if step.operator == name and np.isfinite(values[step.arguments[0]]).all():
                yield _bent(step, np.asarray(values[step.arguments[0]]), np.asarray(values[step.name]))


def _bent(step: Apply, operand: Array, result: Array) -> Scenario:
    """Return a scenario that differentiates the product of a view with itself twice."""
    ones = [Constant.of(np.ones(array.shape)) for array in (result, operand)]
    return Scenario((
        Leaf("x", Constant.of(np.ascontiguousarray(operand).reshape(operand.shape)), requires_grad=True),
        Apply("view", step.operator, ("x",), step.attributes),
        Apply("bent", PRODUCT, ("view", "view")),
        Grad("h", "bent", "x", ones[0]),
        Backward("h", ones[1]),
        Read("grad", "x"),
    ))
