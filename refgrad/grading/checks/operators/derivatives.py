"""Checks of one operator: value and gradient, edges, second and third derivatives, forward mode, and its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from refgrad.facts import Remark
from refgrad.generation import (
    Profile,
    applied_twice,
    contract_scenario,
    contract_scenarios_of_ones,
    corner_scenarios,
    edge_scenario,
    forward_corners,
    forward_scenario,
    large_scenarios,
    memory_scenarios,
    memory_scenarios_of_second_order,
    operator_scenario,
    second_order_corners,
    second_order_scenario,
    subsets_of_second_order,
    third_order_corners,
    third_order_scenario,
)
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.isolation import isolated_applications, with_own_operands
from refgrad.grading.checks.operators.large_arrays import on_large_arrays
from refgrad.grading.checks.operators.operator_check import (
    SEEING,
    Avoided,
    CheckOfOperator,
    is_broken,
    is_known_inaccuracy,
    views_are_right,
)
from refgrad.grading.checks.operators.repetition import repeated
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding, Level, Verdict
from refgrad.grading.reliance import SEEDS_STAY
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import bending
from refgrad.scenario import Scenario
from refgrad.scenario.rewrite import without_tangents

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

KEPT_DTYPES: Final = "dtypes/gradients_keep"
"""Prefix of the behaviour without which no result is right in a dtype other than float64."""

FIRST_CASES: Final = 12
"""Number of fixed cases before those whose operands are views; they include all other kinds."""

WEIGHT: Final = "multiply"
"""Operator that makes a gradient depend on another leaf, or through which a backward reaches only one leaf."""

HELPING: Final = SEEING | {WEIGHT}
"""Operators with which another operator is tried."""

FOUNDATIONS: Final = ("sharing/", "values/", "leaves/")
"""Prefixes of the behaviours without which no gradient of a gradient can be right."""

if TYPE_CHECKING:
    from refgrad.grading.bench import Bench

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
class OperatorCheck(CheckOfOperator):
    """Check of the value and gradient of one operator at points where it is smooth."""

    CHAPTER: ClassVar[str] = "operators"
    CLAIM: ClassVar[str] = "value and gradient are right, for any shape, attribute and seed."

    def run(self, bench: Bench) -> Verdict:
        """Try the operator's applications in behaviours, then scenarios of its own."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        profile = bench.profile(seeds=True, operators=frozenset({name}), edges=0.0)
        verdict = bench.search(
            self,
            lambda seed: bench.reliance.isolated(operator_scenario(seed, name, profile)),
            bench.settings.effort.per_operator,
            given=(*self._met_in_behaviours(bench), *self._fixed_cases(bench, profile)),
        )
        if verdict.failed and verdict.evidence is not None and verdict.evidence.repeatable:
            return verdict
        unstable = repeated(self, bench)
        if unstable is not None or verdict.failed:
            return unstable or verdict
        verdict = self._in_single_precision(verdict, bench)
        if verdict.verdict not in {"passed", "convention"}:
            return verdict
        most = bench.settings.effort.large_arrays
        large = large_scenarios(name, profile)[:most] if most else ()
        isolated = map(bench.reliance.isolated, large)
        return on_large_arrays(self, verdict, bench, filter(bench.reliance.runnable, isolated))

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return the regression with the operator isolated.

        If it has dtypes other than float64 and gradients do not keep them, the result is None.
        """
        plain = _is_of_doubles(scenario)
        return bench.reliance.isolated(scenario) if plain or not bench.reliance.failing(KEPT_DTYPES) else None

    def _in_single_precision(self, verdict: Verdict, bench: Bench) -> Verdict:
        """Return the verdict after half as many scenarios in float32, for an operator that passed in float64."""
        dtypes = set(bench.engine.adapter.dtypes)
        if not {"float32", "float64"} <= dtypes or bench.reliance.failing(KEPT_DTYPES):
            return verdict
        name = self.operator.name
        profile = bench.profile(seeds=True, operators=frozenset({name}), dtype="float32")
        single = bench.search(
            self,
            lambda seed: bench.reliance.isolated(with_own_operands(operator_scenario(seed, name, profile))),
            bench.settings.effort.per_operator // 2,
            variant="/float32",
        )
        return single if single.failed else replace(verdict, examples=verdict.examples + single.examples)

    def _fixed_cases(self, bench: Bench, profile: Profile) -> Iterator[Scenario]:
        """Return the fixed cases of the operator, as many as the run's profile allows."""
        name, effort = self.operator.name, bench.settings.effort
        cases = corner_scenarios(name, profile, effort.fixed_cases)
        makers = (memory_scenarios, applied_twice)
        others = (scenario for make in makers for scenario in self.always(make, profile, bench))
        runnable = filter(bench.reliance.runnable, others)
        met = (*cases[:FIRST_CASES], *runnable, *cases[FIRST_CASES:])[: effort.fixed_cases]
        return (bench.reliance.isolated(scenario) for scenario in met)

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if the operators that make views in the scenario are right."""
        return views_are_right(scenario, self.operator.name, self.id, bench.reliance)

    def _met_in_behaviours(self, bench: Bench) -> Iterable[Scenario]:
        """Return the operator's applications in behaviours, each isolated.

        What fails by itself is no fault of the behaviour.
        """
        name = self.operator.name
        met = [s for b in all_behaviours() for s in b.scenarios]
        tried = [a for s in met if name in s.operators for a in isolated_applications(s, name)]
        doubles = filter(_is_of_doubles, tried)
        return dict.fromkeys(s for s in map(bench.reliance.isolated, doubles) if bench.reliance.runnable(s))


def _is_of_doubles(scenario: Scenario) -> bool:
    return all(leaf.value.dtype in {"float64", "bool"} for leaf in scenario.leaves)


@dataclass(frozen=True, slots=True)
class DependentCheck(CheckOfOperator):
    """Check of one operator that does not repeat failures of the operator's value and gradient."""

    def met(self, scenario: Scenario, bench: Bench) -> Scenario | None:
        """Return the regression, or None if it uses operators other than helping ones that are right by themselves.

        The checks of helping operators use no others, so that no two checks wait for each other.
        """
        others = scenario.operators - {self.operator.name}
        if others and (self.operator.name in HELPING or not others <= HELPING):
            return None
        right = is_sound_twice if scenario.gradients else sound
        usable = all(right(bench, operator_table()[name]) for name in sorted(others))
        return bench.reliance.seeded(scenario) if usable else None

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:  # noqa: ARG002 (others use them)
        """Return True if the operator's own check does not already report the failure."""
        return avoided(bench, self.operator).allows(scenario)

    def explains(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if an inaccuracy of the operator, or of another one in the scenario, explains the failure."""
        if finding.outcome != "inaccurate":
            return False
        table = operator_table()
        verdicts = (verdict_on(bench, table[name]) for name in sorted(scenario.operators))
        return is_known_inaccuracy(scenario, finding, verdicts)

    def tried(  # noqa: PLR0913 (the check chooses each of them, by name)
        self,
        bench: Bench,
        make: Callable[..., Scenario],
        examples: int,
        *,
        fixed: Iterable[Callable[..., tuple[Scenario, ...]]] = (),
        helpers: Iterable[str] = (),
        edges: float = 0.0,
        scalars: bool = True,
        **options: Any,
    ) -> Verdict:
        """Try scenarios with 0-d operands unless ``scalars`` is False, then ``fixed`` ones and ``examples`` drawn ones.

        ``make`` and the functions in ``fixed`` get the name of the operator, a profile that allows it and the
        ``helpers``, and the ``options``. ``edges`` is the probability that an operand lies on an edge; only operators
        that are isolated are tried there.
        """
        name, without = self.operator.name, avoided(bench, self.operator)
        profile = bench.profile(operators=frozenset({name, *helpers}), edges=edges, **without.fields)
        form = bench.reliance.isolated if edges else bench.reliance.seeded

        def drawn(seed: int, profile: Profile = profile) -> Scenario:
            return form(make(seed, name, profile, **options))

        always = (scenario for each in fixed for scenario in self.always(each, profile, bench, **options))
        first = self.of_single_numbers(drawn, profile, bench, examples) if scalars else []
        first += filter(bench.reliance.runnable, map(form, always))
        return bench.search(self, drawn, examples, given=first, cause=without.cause)


@dataclass(frozen=True, slots=True)
class EdgeCheck(DependentCheck):
    """Check of the gradient of one operator at its declared edges, where any legal convention passes."""

    CHAPTER: ClassVar[str] = "edges"
    CLAIM: ClassVar[str] = "at its edges the gradient is an element of the subdifferential."

    def run(self, bench: Bench) -> Verdict:
        """Try the operator on its edges."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        if is_broken(verdict_on(bench, self.operator)):
            return bench.blocked(self, f"operators/{name}")
        return self.tried(bench, edge_scenario, bench.settings.effort.per_edge, edges=1.0, scalars=False)


@dataclass(frozen=True, slots=True)
class SecondOrderCheck(DependentCheck):
    """Check of the gradients of one operator's gradients, at points where it is smooth."""

    CHAPTER: ClassVar[str] = "second_order"
    CLAIM: ClassVar[str] = "its gradient can be differentiated, and the second derivatives are right."

    def run(self, bench: Bench) -> Verdict:
        """Differentiate twice. The output is multiplied by a leaf only if products are right at second order."""
        name = self.operator.name
        if not bench.offers(self.operator):
            return bench.lacks(self, name)
        if "double_backward" not in bench.engine.adapter.features:
            return bench.lacks(self, "double_backward")
        cause = obstacle(bench, self.operator, FOUNDATIONS)
        if cause:
            return bench.blocked(self, cause)
        return self.tried(
            bench,
            second_order_scenario,
            bench.settings.effort.per_second_order,
            fixed=(memory_scenarios_of_second_order, subsets_of_second_order, second_order_corners),
            weighted=self._weighted(bench),
        )

    def _weighted(self, bench: Bench) -> bool | None:
        """Return True if the output is always multiplied by a leaf, False if never, and None if sometimes.

        It is always multiplied if the operator is elementwise and linear or piecewise linear, and never if products are
        wrong at second order.
        """
        row = self.operator
        if row.name != WEIGHT and not is_sound_twice(bench, operator_table()[WEIGHT]):
            return False
        is_straight = row.elementwise and not any(bending(row, name) for name in row.argument_names)
        return True if is_straight else None

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if a gradient is recorded and neither views nor the operator's own check explain the failure."""
        if not scenario.gradients or not DependentCheck.reports(self, scenario, finding, bench):
            return False
        return views_are_right(scenario, self.operator.name, self.id, bench.reliance)


def verdict_on(bench: Bench, operator: Operator) -> Verdict:
    """Return the verdict on an operator's value and gradient."""
    return bench.grade(OperatorCheck(operator))


def obstacle(bench: Bench, operator: Operator, foundations: Iterable[str]) -> str:
    """Return the id of the failing check that another check of the operator depends on, or an empty string."""
    if is_broken(verdict_on(bench, operator)):
        return f"operators/{operator.name}"
    return next(filter(None, map(bench.reliance.failing, foundations)), "")


def avoided(bench: Bench, operator: Operator) -> Avoided:
    """Return the ingredients that further scenarios of the operator must avoid."""
    return Avoided.of([verdict_on(bench, operator)])


def sound(bench: Bench, operator: Operator) -> bool:
    """Return True if the engine has an operator and it is right by itself, so that a graph is to blame for failures."""
    if not bench.offers(operator) or verdict_on(bench, operator).verdict != "passed":
        return False
    return not (operator.edges and bench.grade(EdgeCheck(operator)).failed)


def is_sound_twice(bench: Bench, operator: Operator) -> bool:
    """Return True if an operator is right by itself at first and at second order."""
    return sound(bench, operator) and bench.grade(SecondOrderCheck(operator)).verdict == "passed"


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
        verdict = self.tried(
            bench,
            contract_scenario,
            max(bench.settings.effort.per_contract, OF_VIEWS if name in SEEING else 0),
            fixed=(contract_scenarios_of_ones,),
            helpers={WEIGHT, *welcome},
            scalars=False,
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
        if not cause and not sound(bench, operator_table()[WEIGHT]):
            cause = f"operators/{WEIGHT}"
        cause = cause or obstacle(bench, self.operator, CONTRACT_FOUNDATIONS)
        apart = bench.reliance.reliable_on(APART, frozenset({"add", "multiply"}))
        return cause or ("" if apart else APART)


def _without_watching(verdict: Verdict) -> Verdict:
    """Add that seeds were not read again, since a behaviour already reports that the engine writes to them."""
    reason = f"seeds are not watched: {SEEDS_STAY} fails already"
    text = f"{verdict.message}; {reason}" if verdict.message else reason
    return replace(verdict, message=text, cause=verdict.cause or SEEDS_STAY)


@dataclass(frozen=True, slots=True)
class ThirdOrderCheck(DependentCheck):
    """Check of the gradients of one operator's second derivatives, at points where it is smooth."""

    CHAPTER: ClassVar[str] = "third_order"
    CLAIM: ClassVar[str] = "its second derivatives can be differentiated, and the third ones are right."
    LEVEL: ClassVar[Level] = "SHOULD"

    def run(self, bench: Bench) -> Verdict:
        """Differentiate three times, if second derivatives are right."""
        second = bench.grade(SecondOrderCheck(self.operator))
        if second.verdict in {"unsupported", "inconclusive"}:
            return replace(
                bench.verdict(self, second.verdict, Remark(text=second.message), cause=second.cause),
                evidence=second.evidence,
            )
        if second.failed and second.verdict != "inaccurate":
            return bench.blocked(self, second.id)
        if not is_sound_twice(bench, operator_table()[WEIGHT]):
            return bench.blocked(self, f"second_order/{WEIGHT}")
        return self.tried(
            bench,
            partial(third_order_scenario, weighted_gradient=WEIGHTED_GRADIENT),
            bench.settings.effort.per_third_order,
            fixed=(third_order_corners,),
            helpers=(WEIGHT,),
        )

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if the check should report the failure.

        A gradient of a gradient must be recorded, and the operator's own check must not explain the failure.
        """
        return len(scenario.gradients) >= 2 and DependentCheck.reports(self, scenario, finding, bench)  # noqa: PLR2004


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
        return self.tried(bench, forward_scenario, bench.settings.effort.per_forward_mode, fixed=(forward_corners,))

    def reports(self, scenario: Scenario, finding: Finding, bench: Bench) -> bool:
        """Return True if the failure is specific to forward mode: without tangents, nothing fails."""
        if not scenario.jvps or not DependentCheck.reports(self, scenario, finding, bench):
            return False
        return not examine(without_tangents(scenario), bench.engine).failed
