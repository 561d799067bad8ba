"""Checks of one operator's rules: what a backward may change, third derivatives, and forward mode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from refgrad.generation import (
    Profile,
    contract_scenario,
    contract_scenarios_of_ones,
    forward_corners,
    forward_scenario,
    third_order_corners,
    third_order_scenario,
    without_tangents,
)
from refgrad.grading.checks.isolation.views import SEEING
from refgrad.grading.checks.operators.derivatives import (
    FOUNDATIONS,
    DependentCheck,
    SecondOrderCheck,
    avoided,
    bends,
    obstacle,
    sound,
)
from refgrad.grading.judging.evidence import Remark
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.grading.reliance import SEEDS_STAY
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Scenario

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

NEEDED: Final = "multiply"
"""Operator through which the other backward reaches only one leaf, and that makes a gradient nonlinear once more."""

WEIGHTED_GRADIENT: Final = 0.7
"""Probability that the first of three gradients is multiplied by a leaf."""

OF_VIEWS: Final = 12
"""Smallest number of drawn scenarios of each operator that makes views for the scenarios of all others."""

NEEDED_FEATURES: Final = ("accumulate", "retain_graph")

CONTRACT_FOUNDATIONS: Final = ("sharing/", "values/", "leaves/", "accumulation/", "retain_graph/")
"""Prefixes of the behaviours without which a second backward is wrong whatever the operator's rule does."""

APART: Final = "contracts/gradients_of_leaves_are_apart"
"""Id of the behaviour that shows if an engine's gradients share memory in general or for single operators."""


@dataclass(frozen=True, slots=True)
class ContractCheck(DependentCheck):
    """Check that one operator's backward rule changes nothing but gradients."""

    CHAPTER: ClassVar[str] = "contracts"
    CLAIM: ClassVar[str] = (
        "its backward gives the right gradients each time it is walked, leaves operands and seeds as they are, and no "
        "two gradients share memory."
    )

    def run(self, bench: Bench) -> Verdict:
        """Run the rule twice, with another backward in between, and read everything that must not change."""
        name, features = self.operator.name, bench.engine.adapter.features
        lacking = [feature for feature in NEEDED_FEATURES if feature not in features]
        lacking += [] if bench.offers(self.operator) else [name]
        if lacking:
            return bench.lacks(self, *lacking)
        cause = self._obstacle(bench)
        if cause:
            return bench.blocked(self, cause)
        welcome = {other for other in sorted(SEEING) if self._is_welcome(operator_table()[other], bench)}
        without = avoided(bench, self.operator)
        profile = bench.profile(operators=frozenset({name, NEEDED, *welcome}), **without.fields)
        verdict = bench.search(
            self,
            lambda seed: bench.reliance.seeded(contract_scenario(seed, name, profile)),
            max(bench.settings.effort.per_contract, OF_VIEWS if name in SEEING else 0),
            given=map(bench.reliance.seeded, self.always(contract_scenarios_of_ones, profile, bench)),
            cause=without.cause,
        )
        return verdict if bench.reliance.watches_seeds else _without_watching(verdict)

    def _is_welcome(self, other: Operator, bench: Bench) -> bool:
        """Return True if operands may be views made by another operator.

        That operator must be right and pass its own contract, which is tried without views.
        """
        if self.operator.name in SEEING or not sound(bench, other):
            return False
        return bench.grade(ContractCheck(other)).verdict == "passed"

    def _obstacle(self, bench: Bench) -> str:
        cause = obstacle(bench, self.operator, ())
        if not cause and not sound(bench, operator_table()[NEEDED]):
            cause = f"operators/{NEEDED}"
        cause = cause or obstacle(bench, self.operator, CONTRACT_FOUNDATIONS)
        apart = bench.reliance.reliable_on(APART, frozenset({"add", "multiply"}))
        return cause or ("" if apart else APART)


def _without_watching(verdict: Verdict) -> Verdict:
    """Add that seeds were not read again, since a behaviour already reports that the engine writes to them."""
    said = f"seeds are not watched: {SEEDS_STAY} fails already"
    told = f"{verdict.message}; {said}" if verdict.message else said
    return replace(verdict, message=told, cause=verdict.cause or SEEDS_STAY)


@dataclass(frozen=True, slots=True)
class ThirdOrderCheck(DependentCheck):
    """Check of the gradients of one operator's second derivatives, at points where it is smooth."""

    CHAPTER: ClassVar[str] = "third_order"
    CLAIM: ClassVar[str] = "its second derivatives can be differentiated, and the third ones are right."
    LEVEL: ClassVar[Level] = "SHOULD"

    def run(self, bench: Bench) -> Verdict:
        """Differentiate three times, if second derivatives are right."""
        name = self.operator.name
        second = bench.grade(SecondOrderCheck(self.operator))
        if second.verdict in {"unsupported", "inconclusive"}:
            return replace(
                bench.verdict(self, second.verdict, Remark(text=second.message), cause=second.cause),
                evidence=second.evidence,
            )
        if second.failed and second.verdict != "inaccurate":
            return bench.blocked(self, second.id)
        if not bends(bench, operator_table()[NEEDED]):
            return bench.blocked(self, f"second_order/{NEEDED}")
        without = avoided(bench, self.operator)
        profile = bench.profile(operators=frozenset({name, NEEDED}), **without.fields)

        def made(seed: int, profile: Profile) -> Scenario:
            scenario = third_order_scenario(seed, name, profile, weighted_gradient=WEIGHTED_GRADIENT)
            return bench.reliance.seeded(scenario)

        certain = map(bench.reliance.seeded, self.always(third_order_corners, profile, bench))
        return self.tried(made, profile, bench, bench.settings.effort.per_third_order, without.cause, certain=certain)

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if the check should report the failure.

        A gradient of a gradient must be recorded, and the operator's own check must not explain the failure.
        """
        return len(scenario.gradients) >= 2 and DependentCheck.owns(self, scenario, finding, bench)  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class ForwardModeCheck(DependentCheck):
    """Check of the directional derivatives of one operator, and of its gradient at the same point."""

    CHAPTER: ClassVar[str] = "forward_mode"
    CLAIM: ClassVar[str] = "forward mode gives its directional derivatives, whichever operands move."
    LEVEL: ClassVar[Level] = "SHOULD"

    def run(self, bench: Bench) -> Verdict:
        """Push tangents through an operator whose backward is right, and pull a cotangent back at the same point."""
        name = self.operator.name
        lacking = [] if "forward_mode" in bench.engine.adapter.features else ["forward_mode"]
        lacking += [] if bench.offers(self.operator) else [name]
        if lacking:
            return bench.lacks(self, *lacking)
        cause = obstacle(bench, self.operator, FOUNDATIONS)
        if cause:
            return bench.blocked(self, cause)
        without = avoided(bench, self.operator)
        profile = bench.profile(operators=frozenset({name}), **without.fields)

        def made(seed: int, profile: Profile) -> Scenario:
            return bench.reliance.seeded(forward_scenario(seed, name, profile))

        certain = map(bench.reliance.seeded, self.always(forward_corners, profile, bench))
        return self.tried(made, profile, bench, bench.settings.effort.per_forward_mode, without.cause, certain=certain)

    def owns(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if the failure is specific to forward mode: without tangents, nothing fails."""
        if not scenario.jvps or not DependentCheck.owns(self, scenario, finding, bench):
            return False
        return not examine(without_tangents(scenario), bench.engine).failed
