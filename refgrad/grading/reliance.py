"""What an engine can be relied on for when something else of it is tried.

What its behaviours show decides how scenarios are written: an engine that loses a contribution where a tensor is used
twice is not told so again by each of its operators. A behaviour is doubted only for what others build on: not for a
number that is merely inaccurate, not for an operator that is wrong by itself, and not for a start that no other
scenario makes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, get_args

from refgrad.generation import Meeting, Profile, meeting, operator_scenario, without_gradients_of
from refgrad.grading.checks.isolation.alone import (
    alone,
    applications_alone,
    shows_arrays,
    with_one_leaf,
    with_operands_read,
    with_own_operands,
    without_constants,
)
from refgrad.grading.checks.isolation.ingredients import starts_at_leaf
from refgrad.grading.checks.isolation.roles import REDUCTIONS, ROLES, filled
from refgrad.grading.checks.isolation.seedless import WEIGHT, without_seeds
from refgrad.grading.checks.statements.behaviours import all_behaviours
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import Finding
from refgrad.lifecycle import required_features
from refgrad.native.engine import Engine, observe
from refgrad.scenario import Scenario, parse

SEEDS_STAY: Final = "contracts/seeds_stay_as_they_are"
"""The behaviour that says once whether backwards write to seeds."""

PLAIN: Final = frozenset({"negative", *REDUCTIONS}.union(*ROLES.values()))
"""What is shown with other operators may be their fault: a wrong matmul is no reason to doubt accumulation."""

MEETINGS: Final = frozenset(get_args(Meeting))

TRIED_MEETINGS: Final = 40
"""So many scenarios of an operator are looked through for those in which its operands meet in each way."""

ENOUGH: Final = 3
"""So many are tried of each way."""

PRODUCT_OF_A_SUBNORMAL: Final = parse(
    """
    x = leaf float64[2] {0x1p-1023 0x1p-1030}
    y = leaf float64[2] {0x1p+0 0x1p+1}
    z = multiply x y
    read value z
    """
)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A scenario of a behaviour, and whether it showed the right arrays."""

    behaviour: str
    scenario: Scenario
    right: bool


@dataclass
class Reliance:
    """What a started engine has, and which behaviours it shows; each is tried once."""

    engine: Engine
    _trials: dict[str, tuple[_Trial, ...]] = field(default_factory=dict, init=False)
    _failing: dict[str, str] = field(default_factory=dict, init=False)
    _faulty: dict[str, bool] = field(default_factory=dict, init=False)
    _meetings: dict[str, frozenset[Meeting]] = field(default_factory=dict, init=False)

    @cached_property
    def takes_seeds(self) -> bool:
        """Whether a seed can be relied on to reach the rules; if not, outputs are weighted and summed instead.

        A seed that arrives through some operators is not what is wrong with others. Where the engine has no operator to
        try it by, what the adapter says is believed.
        """
        tried: dict[frozenset[str], bool] = {}
        for trial in self._tried("seeds/"):
            operators = trial.scenario.operators
            tried[operators] = tried.get(operators, True) and trial.right
        return "seed" in self.engine.adapter.features and (not tried or any(tried.values()))

    @cached_property
    def weighs(self) -> bool:
        """Whether outputs can be weighted where no seeds are taken: by a product that is not wrong by itself."""
        return WEIGHT in self.engine.operators and not self.is_faulty(WEIGHT)

    @cached_property
    def watches_seeds(self) -> bool:
        """Whether seeds are looked at again after a backward: if an engine writes to them, a behaviour tells, once."""
        return all(trial.right for trial in self._tried(SEEDS_STAY))

    @cached_property
    def flushes_subnormals(self) -> bool:
        """Whether a product with a subnormal number is zero: a mode of the processor that the engine chose."""
        if not self.runnable(PRODUCT_OF_A_SUBNORMAL):
            return False
        shown = observe(PRODUCT_OF_A_SUBNORMAL, self.engine)[-1].array
        return shown is not None and not shown.any()

    def _tried(self, behaviours: str) -> tuple[_Trial, ...]:
        """Try the scenarios that show arrays of all behaviours of this prefix.

        One that differs from a failed one neither in its operators nor in where its backward starts is not run: no
        question is asked that it could decide, and each may cost a process.
        """
        if behaviours not in self._trials:
            named = [b for b in all_behaviours() if b.id.startswith(behaviours)]
            chosen = [(b.id, self.filled(scenario)) for b in named for scenario in b.scenarios]
            trials: list[_Trial] = []
            failed: set[tuple[frozenset[str], bool]] = set()
            for name, scenario in chosen:
                if self.runnable(scenario) and shows_arrays(scenario):
                    kind = scenario.operators, starts_at_leaf(scenario)
                    expected = kind in failed or self.engine.hangs(scenario.operators)
                    right = not expected and self._is_right(self.examined(scenario, behaviours))
                    trials.append(_Trial(name, scenario, right))
                    failed |= set() if right else {kind}
            self._trials[behaviours] = tuple(trials)
        return self._trials[behaviours]

    @staticmethod
    def _is_right(finding: Finding) -> bool:
        return not finding.failed or finding.outcome == "inaccurate"

    def examined(self, scenario: Scenario, check: str) -> Finding:
        """Return what a scenario shows; that seeds are written to is told once, by a behaviour."""
        return examine(scenario, self.engine, seeds=self.watches_seeds_in(check))

    def watches_seeds_in(self, check: str) -> bool:
        """Whether seeds are looked at again in the scenarios of a check."""
        return check == SEEDS_STAY or (check.startswith("contracts/") and self.watches_seeds)

    def lacking(self, scenario: Scenario) -> list[str]:
        """What the engine would need for a scenario: features, and operators."""
        features = sorted(required_features(scenario) - self.engine.adapter.features)
        features += [f"dtype {dtype}" for dtype in self.engine.adapter.dtypes_lacking(scenario)]
        return features + [f"operator {name}" for name in sorted(scenario.operators - self.engine.operators.keys())]

    def runnable(self, scenario: Scenario) -> bool:
        """Whether the engine has all that a scenario uses."""
        return not self.lacking(scenario)

    def filled(self, scenario: Scenario) -> Scenario:
        """Return a scenario that is about no operator with operators that the engine has, and that are not wrong."""
        return filled(scenario, self._fit, arrays="arrays" in self.engine.adapter.features)

    @cached_property
    def _fit(self) -> frozenset[str]:
        """The engine's operators, without those of :data:`PLAIN` that are wrong by themselves."""
        return frozenset(n for n in self.engine.operators if n not in PLAIN or not self.is_faulty(n))

    def isolated(self, scenario: Scenario) -> Scenario:
        """Try the operator in a way that relies on nothing that the engine gets wrong around it."""
        if self.failing("sharing/"):
            scenario = with_own_operands(scenario)
        if self.failing("leaves/constants_stop_gradients"):
            scenario = without_constants(scenario)
        if self.failing("leaves/every_leaf_is_served"):
            scenario = with_one_leaf(scenario)
        scenario = with_operands_read(scenario, early=bool(self.failing("values/")))
        return self.seeded(scenario)

    def seeded(self, scenario: Scenario) -> Scenario:
        """Return the scenario, without seeds if they cannot be relied on."""
        return scenario if self.takes_seeds else without_seeds(scenario, weighs=self.weighs)

    def wrong_alone(self, scenario: Scenario, operators: Collection[str]) -> str:
        """Return the first of these operators that is wrong by itself on operands that a scenario gives it, or nothing.

        By itself, it is given a leaf for every operand, of the very shape and numbers.
        """
        for name in sorted(operators):
            if self.engine.hangs(frozenset({name})):
                return name
            tried = (self.isolated(with_own_operands(each)) for each in applications_alone(scenario, name))
            if any(self._is_wrong(each, lambda finding: not finding.failed) for each in tried if self.runnable(each)):
                return name
        return ""

    def right_meetings(self, operator: str) -> frozenset[Meeting]:
        """Return the ways in which operands may meet for an operator to be right by itself, as far as trials tell."""
        if operator not in self._meetings:
            profile = Profile(operators=frozenset({operator}), scalars_only=self.engine.adapter.scalars_only, empty=0.0)
            tried: dict[Meeting, list[bool]] = {}
            for seed in range(TRIED_MEETINGS if not self.engine.hangs(frozenset({operator})) else 0):
                scenario = operator_scenario(seed, operator, profile)
                shapes = {leaf.name: leaf.value.shape for leaf in scenario.leaves}
                met = tried.setdefault(meeting([shapes[name] for name in scenario.applications[0].arguments]), [])
                if len(met) < ENOUGH and all(met):
                    isolated = self.isolated(scenario)
                    met.append(self.runnable(isolated) and examine(isolated, self.engine).outcome == "passed")
            self._meetings[operator] = frozenset(way for way, met in tried.items() if len(met) == ENOUGH and all(met))
        return self._meetings[operator]

    def reliable_on(self, behaviours: str, operators: frozenset[str]) -> bool:
        """Whether it shows them in those scenarios of a behaviour that use these operators."""
        return all(trial.right for trial in self._tried(behaviours) if trial.scenario.operators == operators)

    def failing(self, behaviours: str) -> str:
        """Return the first behaviour of this prefix that others cannot build on, or nothing."""
        if behaviours not in self._failing:
            wrong = (trial for trial in self._tried(behaviours) if not trial.right)
            self._failing[behaviours] = next((t.behaviour for t in wrong if self._counts(t.scenario)), "")
        return self._failing[behaviours]

    def _counts(self, scenario: Scenario) -> bool:
        plain = scenario.operators <= PLAIN and not starts_at_leaf(scenario)
        return plain and not any(self._is_wrong_in(scenario, name) for name in scenario.operators)

    def _is_wrong_in(self, scenario: Scenario, operator: str) -> bool:
        """Whether an operator is wrong by itself on numbers, or on operands that a scenario gives it."""
        if self.is_faulty(operator):
            return True
        tried = map(self.seeded, map(with_own_operands, applications_alone(scenario, operator)))
        return any(self._is_wrong(each, self._is_right) for each in tried if self.runnable(each))

    def is_faulty(self, operator: str) -> bool:
        """Whether an operator is wrong by itself on numbers."""
        if operator not in self._faulty:
            joint = alone(operator)
            hangs = self.engine.hangs(joint.operators)
            self._faulty[operator] = hangs or (self.runnable(joint) and self._is_wrong(joint, self._is_right))
        return self._faulty[operator]

    def _is_wrong(self, scenario: Scenario, is_right: Callable[[Finding], bool]) -> bool:
        """Whether one application is wrong, and no engine's loss of leaves explains it.

        It is not if it is right where the gradient of each operand alone is wanted.
        """
        if is_right(examine(scenario, self.engine)):
            return False
        wanted = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
        single = [without_gradients_of(scenario, [other for other in wanted if other != name]) for name in wanted]
        return single in ([], [scenario]) or not all(is_right(examine(each, self.engine)) for each in single)
