"""Checks of one operator: value and gradient, its edges, and its second derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from refgrad.generation import (
    Profile,
    applied_twice,
    corner_scenarios,
    edge_scenario,
    large_scenarios,
    memory_scenarios,
    memory_scenarios_of_second_order,
    operator_scenario,
    second_order_corners,
    second_order_scenario,
    subsets_of_second_order,
)
from refgrad.grading.checks.isolation.alone import applications_alone, with_own_operands
from refgrad.grading.checks.isolation.views import SEEING, views_are_right
from refgrad.grading.checks.operators.large_arrays import on_large_arrays
from refgrad.grading.checks.operators.operator_check import Avoided, CheckOfOperator, is_broken, is_known_inaccuracy
from refgrad.grading.checks.operators.repetition import repeated
from refgrad.grading.checks.statements.behaviours import all_behaviours
from refgrad.grading.judging.verdict import Finding, Verdict
from refgrad.operators import Operator, operator_table
from refgrad.operators.curvature import bending
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

KEPT_DTYPES: Final = "dtypes/gradients_keep"
"""The behaviour without which nothing that an engine does in another dtype than float64 is right."""

FIRST_CORNERS: Final = 12
"""Behind so many corners come operands that are views: those before are of every other kind."""

WEIGHT: Final = "multiply"
"""The operator by which a gradient is made to depend on another leaf."""

HELPING: Final = SEEING | {WEIGHT}
"""The operators with which another one is tried."""

FOUNDATIONS: Final = ("sharing/", "values/", "leaves/")
"""The behaviours without which no gradient of a gradient can be right."""


@dataclass(frozen=True, slots=True)
class OperatorCheck(CheckOfOperator):
    """Value and gradient of one operator at points where it is smooth."""

    CHAPTER: ClassVar[str] = "operators"
    CLAIM: ClassVar[str] = "value and gradient are right, for any shape, attribute and seed."

    def run(self, bench: Bench) -> Verdict:
        """Try the operator where behaviours use it, and then in scenarios of its own."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        profile = bench.profile(seeds=True, operators=frozenset({name}), edges=0.0)
        verdict = bench.search(
            self,
            lambda seed: bench.reliance.isolated(operator_scenario(seed, name, profile)),
            bench.settings.effort.per_operator,
            given=(*self._met_in_behaviours(bench), *self._corners(bench, profile)),
        )
        if verdict.failed and verdict.evidence is not None and verdict.evidence.repeatable:
            return verdict
        by_chance = repeated(self, bench)
        if by_chance is not None or verdict.failed:
            return by_chance or verdict
        verdict = self._in_single_precision(verdict, bench)
        if verdict.verdict not in {"passed", "convention"}:
            return verdict
        most = bench.settings.effort.large_arrays
        large = large_scenarios(name, profile)[:most] if most else ()
        isolated = map(bench.reliance.isolated, large)
        return on_large_arrays(self, verdict, bench, filter(bench.reliance.runnable, isolated))

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Try the operator by itself, in other dtypes than float64 only where gradients keep them."""
        plain = _is_of_doubles(scenario)
        return bench.reliance.isolated(scenario) if plain or not bench.reliance.failing(KEPT_DTYPES) else None

    def _in_single_precision(self, verdict: Verdict, bench: Bench) -> Verdict:
        """Return the verdict on an operator that float64 shows no fault of, after half as many scenarios of float32."""
        dtypes = set(bench.engine.adapter.dtypes)
        if not {"float32", "float64"} <= dtypes or bench.reliance.failing(KEPT_DTYPES):
            return verdict
        name = self.operator.name
        profile = bench.profile(seeds=True, operators=frozenset({name}), dtype="float32")
        found = bench.search(
            self,
            lambda seed: bench.reliance.isolated(with_own_operands(operator_scenario(seed, name, profile))),
            bench.settings.effort.per_operator // 2,
            variant="/float32",
        )
        return found if found.failed else replace(verdict, examples=verdict.examples + found.examples)

    def _corners(self, bench: Bench, profile: Profile) -> Iterator[Scenario]:
        """Yield as many of the operator's corners as the run's profile has."""
        name, effort = self.operator.name, bench.settings.effort
        corners = corner_scenarios(name, profile, effort.corners)
        makers = (memory_scenarios, applied_twice)
        others = (scenario for make in makers for scenario in self.always(make, profile, bench))
        runnable = filter(bench.reliance.runnable, others)
        met = (*corners[:FIRST_CORNERS], *runnable, *corners[FIRST_CORNERS:])[: effort.corners]
        return (bench.reliance.isolated(scenario) for scenario in met)

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others ask)
        """Whether it is not the views' fault that something fails on views."""
        return views_are_right(scenario, self.operator.name, self.id, bench.reliance)

    def _met_in_behaviours(self, bench: Bench) -> Iterable[Scenario]:
        """Return the operator's applications in behaviours, each alone: what fails so is not the behaviour's fault."""
        name = self.operator.name
        met = [s for b in all_behaviours() for s in b.scenarios]
        tried = [a for s in met if name in s.operators for a in applications_alone(s, name)]
        doubles = filter(_is_of_doubles, tried)
        return dict.fromkeys(s for s in map(bench.reliance.isolated, doubles) if bench.reliance.runnable(s))


def _is_of_doubles(scenario: Scenario) -> bool:
    return all(leaf.value.dtype in {"float64", "bool"} for leaf in scenario.leaves)


@dataclass(frozen=True, slots=True)
class DependentCheck(CheckOfOperator):
    """A check of one operator that says nothing new where its value and gradient are wrong already."""

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Leave out what is made with other operators than helping ones that are right by themselves.

        The checks of helping operators need no others, so that no two checks wait for each other.
        """
        others = scenario.operators - {self.operator.name}
        if others and (self.operator.name in HELPING or not others <= HELPING):
            return None
        right = bends if scenario.gradients else sound
        usable = all(right(bench, operator_table()[name]) for name in sorted(others))
        return bench.reliance.seeded(scenario) if usable else None

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others ask)
        """Whether a failure is not what the operator's own check tells."""
        return avoided(bench, self.operator).allows(scenario)

    def excuses(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Whether a failure is no more than the operator's inaccuracy, or that of another one in the scenario."""
        if finding.outcome != "inaccurate":
            return False
        table = operator_table()
        verdicts = (verdict_on(bench, table[name]) for name in sorted(scenario.operators))
        return is_known_inaccuracy(scenario, finding, verdicts)


@dataclass(frozen=True, slots=True)
class EdgeCheck(DependentCheck):
    """Gradient of one operator at its declared edges, where any legal convention will do."""

    CHAPTER: ClassVar[str] = "edges"
    CLAIM: ClassVar[str] = "at its edges the gradient is an element of the subdifferential."

    def run(self, bench: Bench) -> Verdict:
        """Put the operator onto its edges."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        if is_broken(verdict_on(bench, self.operator)):
            return bench.blocked(self, f"operators/{name}")
        without = avoided(bench, self.operator)
        profile = bench.profile(seeds=True, operators=frozenset({name}), edges=1.0, **without.fields)
        return bench.search(
            self,
            lambda seed: bench.reliance.isolated(edge_scenario(seed, name, profile)),
            bench.settings.effort.per_edge,
            cause=without.cause,
        )


@dataclass(frozen=True, slots=True)
class SecondOrderCheck(DependentCheck):
    """Gradients of one operator's gradients, at points where it is smooth."""

    CHAPTER: ClassVar[str] = "second_order"
    CLAIM: ClassVar[str] = "its gradient can be differentiated, and the second derivatives are right."

    def run(self, bench: Bench) -> Verdict:
        """Differentiate twice; the operator's output is multiplied by a leaf only if that is known to work."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        if "double_backward" not in bench.engine.adapter.features:
            return bench.lacks(self, "double_backward")
        cause = obstacle(bench, self.operator, FOUNDATIONS)
        if cause:
            return bench.blocked(self, cause)
        without, weighted = avoided(bench, self.operator), self._weighted(bench)
        profile = bench.profile(operators=frozenset({name}), **without.fields)

        def made(seed: int, profile: Profile) -> Scenario:
            return bench.reliance.seeded(second_order_scenario(seed, name, profile, weighted=weighted))

        always = (
            scenario
            for make in (memory_scenarios_of_second_order, subsets_of_second_order, second_order_corners)
            for scenario in self.always(make, profile, bench, weighted=weighted)
        )
        certain = filter(bench.reliance.runnable, map(bench.reliance.seeded, always))
        return self.tried(made, profile, bench, bench.settings.effort.per_second_order, without.cause, certain=certain)

    def _weighted(self, bench: Bench) -> bool | None:
        """Whether the output is multiplied by a leaf: always where the operator bends nowhere, None for sometimes."""
        row = self.operator
        if row.name != WEIGHT and not bends(bench, operator_table()[WEIGHT]):
            return False
        is_straight = row.elementwise and not any(bending(row, name) for name in row.argument_names)
        return True if is_straight else None

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Whether a gradient is recorded at all."""
        if not scenario.gradients or not DependentCheck.owns(self, scenario, finding, bench):
            return False
        return views_are_right(scenario, self.operator.name, self.id, bench.reliance)


def verdict_on(bench: Bench, operator: Operator) -> Verdict:
    """Return the verdict on an operator's value and gradient."""
    return bench.grade(OperatorCheck(operator))


def obstacle(bench: Bench, operator: Operator, foundations: Iterable[str]) -> str:
    """Return the id of the check that fails and that another one of the operator cannot do without, or nothing."""
    if is_broken(verdict_on(bench, operator)):
        return f"operators/{operator.name}"
    return next(filter(None, map(bench.reliance.failing, foundations)), "")


def avoided(bench: Bench, operator: Operator) -> Avoided:
    """Return what the operator's further scenarios are to do without."""
    return Avoided.of([verdict_on(bench, operator)])


def sound(bench: Bench, operator: Operator) -> bool:
    """Whether an operator is there and right by itself: what fails on it in a graph is the graph's doing."""
    if not bench.offers(operator) or verdict_on(bench, operator).verdict != "passed":
        return False
    return not (operator.edges and bench.grade(EdgeCheck(operator)).failed)


def bends(bench: Bench, operator: Operator) -> bool:
    """Whether an operator is right by itself at first and at second order."""
    return sound(bench, operator) and bench.grade(SecondOrderCheck(operator)).verdict == "passed"
