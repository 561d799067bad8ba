"""What is the verdict of a check on an engine?

A fault is reported once: where a behaviour or a random graph fails on an operator that is wrong by itself, the
operator's own check says so, and the other check goes on without that operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hypothesis.database import DirectoryBasedExampleDatabase

from refgrad.generation import (
    Profile,
    edge_scenario,
    find_counterexample,
    operator_scenario,
    second_order_scenario,
    shrink,
)
from refgrad.harness.behaviour_checks import judge_behaviour
from refgrad.harness.behaviours import all_behaviours
from refgrad.harness.checks import (
    BehaviourCheck,
    Check,
    ClaimCheck,
    ContractCheck,
    EdgeCheck,
    ForwardModeCheck,
    GraphCheck,
    LifecycleCheck,
    OfOperator,
    OperatorCheck,
    SecondOrderCheck,
    ThirdOrderCheck,
    chapter,
    is_about,
)
from refgrad.harness.claim_checks import judge_claim
from refgrad.harness.examination import examine
from refgrad.harness.graph_checks import KEPT_DTYPES, belongs_to_dtype, judge_graphs
from refgrad.harness.isolation import (
    applications_alone,
    with_own_operands,
)
from refgrad.harness.lifecycle_checks import judge_lifecycles
from refgrad.harness.reliance import Reliance
from refgrad.harness.rule_checks import belongs_to_forward_mode, judge_contract, judge_forward_mode, judge_third_order
from refgrad.harness.settings import Settings
from refgrad.harness.verdict import Finding, Outcome, Verdict
from refgrad.native.engine import reproduce
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Scenario

WEIGHT: Final = "multiply"
"""The operator by which a gradient is made to depend on another leaf."""

FOUNDATIONS: Final = ("sharing/", "values/", "leaves/")
"""The behaviours without which no gradient of a gradient can be right."""


@dataclass(slots=True)
class Grader(Reliance):
    """Grades one started engine; verdicts on operators are kept, since other checks ask for them."""

    settings: Settings = field(default_factory=Settings)
    _operators: dict[str, Verdict] = field(default_factory=dict, init=False)
    _second_orders: dict[str, Verdict] = field(default_factory=dict, init=False)

    def grade(self, check: Check) -> Verdict:  # noqa: C901, PLR0911 (one return for each kind of check)
        """Run one check."""
        match check:
            case OperatorCheck(operator=operator):
                return self.of_operator(operator)
            case EdgeCheck(operator=operator):
                return self._of_edges(check, operator)
            case SecondOrderCheck(operator=operator):
                return self.of_second_order(operator)
            case BehaviourCheck():
                return judge_behaviour(self, check)
            case ThirdOrderCheck():
                return judge_third_order(self, check)
            case ContractCheck():
                return judge_contract(self, check)
            case ForwardModeCheck():
                return judge_forward_mode(self, check)
            case LifecycleCheck():
                return judge_lifecycles(self, check)
            case ClaimCheck():
                return judge_claim(self, check)
            case GraphCheck():
                return judge_graphs(self, check)

    def of_operator(self, operator: Operator) -> Verdict:
        """Return the verdict on one operator's value and gradient."""
        if operator.name not in self._operators:
            self._operators[operator.name] = self._judge_operator(operator)
        return self._operators[operator.name]

    def _judge_operator(self, operator: Operator) -> Verdict:
        check = OperatorCheck(operator)
        profile = self.profile(seeds=True, operators=frozenset({operator.name}), edges=0.0)
        if not self.offers(operator):
            return self.verdict(check, "unsupported", message=f"the engine has no {operator.name}")
        for number, scenario in enumerate(self._met_in_behaviours(operator), 1):
            if examine(scenario, self.engine).failed:
                shrunk = shrink(scenario, lambda smaller: examine(smaller, self.engine).failed)
                return self.shown(check, examine(shrunk, self.engine), shrunk, number)
        verdict = self.search(
            check,
            lambda seed: self.isolated(operator_scenario(seed, operator.name, profile)),
            self.settings.effort.per_operator,
        )
        return verdict if verdict.failed else self._in_single_precision(verdict, check)

    def _in_single_precision(self, verdict: Verdict, check: OperatorCheck) -> Verdict:
        """Return the verdict on an operator that float64 shows no fault of, after half as many scenarios of float32."""
        if not {"float32", "float64"} <= set(self.engine.adapter.dtypes) or not self.reliable(KEPT_DTYPES):
            return verdict
        name = check.operator.name
        profile = self.profile(seeds=True, operators=frozenset({name}), dtype="float32")
        found = self.search(
            check,
            lambda seed: self.isolated(with_own_operands(operator_scenario(seed, name, profile))),
            self.settings.effort.per_operator // 2,
            variant="/float32",
        )
        return found if found.failed else replace(verdict, examples=verdict.examples + found.examples)

    def _met_in_behaviours(self, operator: Operator) -> Mapping[Scenario, None]:
        """Return the operator's applications in behaviours, each alone: what fails so is not the behaviour's fault."""
        met = [s for b in all_behaviours() for s in b.scenarios]
        alone = [a for s in met if operator.name in s.operators for a in applications_alone(s, operator.name)]
        doubles = (s for s in alone if all(leaf.value.dtype in ("float64", "bool") for leaf in s.leaves))
        return dict.fromkeys(s for s in map(self.isolated, doubles) if self.runnable(s))

    def _of_edges(self, check: EdgeCheck, operator: Operator) -> Verdict:
        if not self.offers(operator):
            return self.verdict(check, "unsupported", message=f"the engine has no {operator.name}")
        if self.of_operator(operator).failed:
            return self.verdict(check, "inconclusive", message=f"operators/{operator.name} fails already")
        profile = self.profile(seeds=True, operators=frozenset({operator.name}), edges=1.0)
        return self.search(
            check,
            lambda seed: self.isolated(edge_scenario(seed, operator.name, profile)),
            self.settings.effort.per_edge,
        )

    def of_second_order(self, operator: Operator) -> Verdict:
        """Return the verdict on its second derivatives."""
        if operator.name not in self._second_orders:
            self._second_orders[operator.name] = self._judge_second_order(SecondOrderCheck(operator))
        return self._second_orders[operator.name]

    def _judge_second_order(self, check: SecondOrderCheck) -> Verdict:
        """Differentiate twice; the operator's output is multiplied by a leaf only if that is known to work."""
        name = check.operator.name
        if not self.offers(check.operator):
            return self.verdict(check, "unsupported", message=f"the engine has no {name}")
        if "double_backward" not in self.engine.adapter.features:
            return self.verdict(check, "unsupported", message="the engine has no double_backward")
        if self.of_operator(check.operator).failed:
            return self.verdict(check, "inconclusive", message=f"operators/{name} fails already")
        for behaviours in FOUNDATIONS:
            if not self.reliable(behaviours):
                return self.verdict(check, "inconclusive", message=f"{behaviours} fails already")
        weighted = None if name == WEIGHT or self.bends(operator_table()[WEIGHT]) else False
        profile = self.profile(operators=frozenset({name}))
        return self.search(
            check,
            lambda seed: self.seeded(second_order_scenario(seed, name, profile, weighted=weighted)),
            self.settings.effort.per_second_order,
        )

    def bends(self, operator: Operator) -> bool:
        """Whether an operator is right by itself at first and at second order."""
        return self.sound(operator) and self.of_second_order(operator).verdict == "passed"

    def profile(self, **fields: Any) -> Profile:
        """Return what the engine's scenarios may contain."""
        return Profile(scalars_only=self.engine.adapter.scalars_only, **fields)

    def offers(self, operator: Operator) -> bool:
        """Whether the engine has an operator."""
        return self.engine.offers(operator)

    def sound(self, operator: Operator) -> bool:
        """Whether an operator is there and right by itself: what fails on it in a graph is the graph's doing."""
        if not self.offers(operator) or self.of_operator(operator).verdict != "passed":
            return False
        return not (operator.edges and self._of_edges(EdgeCheck(operator), operator).failed)

    def search(self, check: Check, make: Callable[[int], Scenario], examples: int, *, variant: str = "") -> Verdict:
        """Try scenarios that follow from seeds, and show the smallest that fails."""
        outcomes: Counter[Outcome] = Counter()
        said: dict[Outcome, str] = {}

        def fails(scenario: Scenario) -> bool:
            finding = self.examined(scenario, check.id)
            outcomes[finding.outcome] += 1
            said[finding.outcome] = finding.message
            return (
                finding.failed
                and self.runnable(scenario)
                and is_about(check, scenario)
                and belongs_to_dtype(check, scenario, self.engine, finding.outcome)
                and belongs_to_forward_mode(check, scenario, self.engine)
            )

        settings = self.settings
        found = find_counterexample(
            make,
            fails,
            seed=settings.seed,
            max_examples=examples,
            database=None if settings.database is None else DirectoryBasedExampleDatabase(settings.database),
            key=f"{self.engine.adapter.name}/{check.id}{variant}",
        )
        if found.counterexample is None:
            return self.verdict(check, *_summary(outcomes, said), examples=found.examples)
        scenario = found.counterexample.shrunk
        return self.shown(check, self.examined(scenario, check.id), scenario, found.examples)

    def shown(self, check: Check, finding: Finding, scenario: Scenario | None, examples: int) -> Verdict:
        """Return the verdict that a scenario shows, or where there is none, the finding's outcome alone."""
        if scenario is None:
            return self.verdict(check, finding.outcome, examples=examples)
        place = f"step {finding.step}, `{scenario.steps[finding.step - 1].to_text()}`: " if finding.step else ""
        message = place + finding.message
        verdict = self.verdict(check, finding.outcome, message=message, scenario=scenario, examples=examples)
        if finding.of_seed:
            return replace(verdict, reproduction=reproduce(scenario, self.engine, seeds=True))
        return verdict

    def verdict(
        self, check: Check, outcome: Outcome, message: str = "", scenario: Scenario | None = None, examples: int = 0
    ) -> Verdict:
        """Return a verdict, with the scenario that shows it and the same as a program."""
        return Verdict(
            id=check.id,
            chapter=chapter(check),
            operator=check.operator.name if isinstance(check, OfOperator) else "",
            level=check.level,
            verdict=outcome,
            statement=check.statement,
            message=message,
            scenario=scenario.text if scenario else "",
            scenario_id=scenario.id if scenario else "",
            reproduction=reproduce(scenario, self.engine) if scenario else "",
            examples=examples,
        )


def _summary(outcomes: Counter[Outcome], said: Mapping[Outcome, str]) -> tuple[Outcome, str]:
    """Nothing failed: passed, unless conventions were met, nothing could be decided, or nothing is implemented."""
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()) if outcome != "passed")
    if outcomes["convention"]:
        return "convention", f"a legal subgradient was chosen: {said['convention']}"
    if outcomes["passed"]:
        return "passed", told
    for outcome in ("unsupported", "inconclusive"):
        if outcomes[outcome]:
            return outcome, said[outcome]
    return "passed", told
