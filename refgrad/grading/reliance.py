"""Parts of an engine that scenarios can rely on while they try something else.

The results of behaviours decide how scenarios are written. If an engine loses a contribution where a tensor is used
twice, for example, the checks of operators avoid such uses, so that only the behaviour reports the fault. A behaviour
counts as failing only if other scenarios depend on it: not because of an inaccurate number, not because of an operator
that is wrong by itself, and not because of a backward that starts at a leaf, which no other scenario has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, get_args

from refgrad.generation import Meeting, Profile, meeting, operator_scenario
from refgrad.grading.checks import isolation
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.isolation import isolated_applications, with_own_operands
from refgrad.grading.judging.examination import examine
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Finding, Outcome
from refgrad.grading.settings import CHECKS, NUMBERS
from refgrad.lifecycle import required_features
from refgrad.native.engine import Engine, observe
from refgrad.scenario import Scenario, parse
from refgrad.scenario.rewrite import without_gradients_of

SEEDS_STAY: Final = "contracts/seeds_stay_as_they_are"
"""Id of the only behaviour that reports that backwards write to seeds."""

PLAIN: Final = frozenset({"negative", *isolation.REDUCTIONS}.union(*isolation.ROLES.values()))
"""Operators whose scenarios show whether a behaviour holds.

A failure with another operator may be the fault of that operator: a wrong matmul says nothing about accumulation.
"""

EXACT: Final = frozenset(OUTCOMES) - FAILURES
RIGHT: Final[frozenset[Outcome]] = EXACT | {"inaccurate"}
"""Outcomes of scenarios that show no fault, and those of scenarios that show no more than an inaccuracy."""

TRIED: Final = NUMBERS["operators"]

MEETINGS: Final = frozenset(get_args(Meeting))


PRODUCT_OF_A_SUBNORMAL: Final = parse(CHECKS["product_of_a_subnormal"])


@dataclass(frozen=True, slots=True)
class _Trial:
    """A scenario of a behaviour. It is ``right`` if the engine showed the right arrays."""

    behaviour: str
    scenario: Scenario
    right: bool


@dataclass
class Reliance:
    """What scenarios can rely on in a started engine. Each behaviour is tried once."""

    engine: Engine
    _trials: dict[str, tuple[_Trial, ...]] = field(default_factory=dict, init=False)
    _failing: dict[str, str] = field(default_factory=dict, init=False)
    _faulty: dict[str, bool] = field(default_factory=dict, init=False)
    _meetings: dict[str, frozenset[Meeting]] = field(default_factory=dict, init=False)

    @cached_property
    def takes_seeds(self) -> bool:
        """Return True if seeds reach the rules. If not, outputs are weighted and summed instead.

        It is enough that seeds arrive through one set of operators: others that fail are wrong themselves. If the
        engine has no operators to try this with, the declaration of the adapter counts.
        """
        tried: dict[frozenset[str], bool] = {}
        for trial in self._tried("seeds/"):
            operators = trial.scenario.operators
            tried[operators] = tried.get(operators, True) and trial.right
        return "seed" in self.engine.adapter.features and (not tried or any(tried.values()))

    @cached_property
    def weighs(self) -> bool:
        """Return True if outputs can be weighted in place of seeds: the product of the engine is right by itself."""
        return isolation.WEIGHT in self.engine.operators and not self.is_faulty(isolation.WEIGHT)

    @cached_property
    def watches_seeds(self) -> bool:
        """Return True if seeds are read again after a backward. Otherwise a behaviour reports writes to them."""
        return all(trial.right for trial in self._tried(SEEDS_STAY))

    @cached_property
    def flushes_subnormals(self) -> bool:
        """Return True if a product with subnormal operands is zero: the engine has set the processor to flush them."""
        if not self.runnable(PRODUCT_OF_A_SUBNORMAL):
            return False
        product = observe(PRODUCT_OF_A_SUBNORMAL, self.engine)[-1].array
        return product is not None and not product.any()

    def _tried(self, behaviours: str) -> tuple[_Trial, ...]:
        """Try the scenarios of all behaviours with this prefix that show arrays.

        A scenario counts as failed without being run if another one failed that has the same operators and also does,
        or does not, start a backward at a leaf. It could not change any answer, and each run may cost a process.
        """
        if behaviours not in self._trials:
            named = [b for b in all_behaviours() if b.id.startswith(behaviours)]
            chosen = [(b.id, self.filled(scenario)) for b in named for scenario in b.scenarios]
            trials: list[_Trial] = []
            failed: set[tuple[frozenset[str], bool]] = set()
            for name, scenario in chosen:
                if self.runnable(scenario) and isolation.shows_arrays(scenario):
                    kind = scenario.operators, isolation.starts_at_leaf(scenario)
                    expected = kind in failed or self.engine.hangs(scenario.operators)
                    right = not expected and self.examined(scenario, behaviours).outcome in RIGHT
                    trials.append(_Trial(name, scenario, right))
                    failed |= set() if right else {kind}
            self._trials[behaviours] = tuple(trials)
        return self._trials[behaviours]

    def examined(self, scenario: Scenario, check: str) -> Finding:
        """Return the finding of a scenario. Only the checks of :meth:`watches_seeds_in` report writes to seeds."""
        return examine(scenario, self.engine, seeds=self.watches_seeds_in(check))

    def watches_seeds_in(self, check: str) -> bool:
        """Return True if seeds are read again in the scenarios of a check."""
        return check == SEEDS_STAY or (check.startswith("contracts/") and self.watches_seeds)

    def lacking(self, scenario: Scenario) -> list[str]:
        """Return the features, dtypes and operators that a scenario needs and the engine lacks."""
        features = sorted(required_features(scenario) - self.engine.adapter.features)
        features += [f"dtype {dtype}" for dtype in self.engine.adapter.dtypes_lacking(scenario)]
        return features + [f"operator {name}" for name in sorted(scenario.operators - self.engine.operators.keys())]

    def runnable(self, scenario: Scenario) -> bool:
        """Return True if the engine has everything that a scenario uses."""
        return not self.lacking(scenario)

    def filled(self, scenario: Scenario) -> Scenario:
        """Return a scenario that is about no operator, with operators that the engine has and that are not wrong."""
        return isolation.filled(scenario, self._fit, arrays="arrays" in self.engine.adapter.features)

    @cached_property
    def _fit(self) -> frozenset[str]:
        """The engine's operators, without those of :data:`PLAIN` that are wrong by themselves."""
        return frozenset(n for n in self.engine.operators if n not in PLAIN or not self.is_faulty(n))

    def isolated(self, scenario: Scenario) -> Scenario:
        """Return a scenario of an operator without anything else that the engine gets wrong."""
        if self.failing("sharing/"):
            scenario = with_own_operands(scenario)
        if self.failing("leaves/constants_stop_gradients"):
            scenario = isolation.without_constants(scenario)
        if self.failing("leaves/every_leaf_is_served"):
            scenario = isolation.with_one_leaf(scenario)
        scenario = isolation.with_operands_read(scenario, early=bool(self.failing("values/")))
        return self.seeded(scenario)

    def seeded(self, scenario: Scenario) -> Scenario:
        """Return the scenario, without seeds if they cannot be relied on."""
        return scenario if self.takes_seeds else isolation.without_seeds(scenario, weighs=self.weighs)

    def wrong_in_isolation(self, scenario: Scenario, operators: Collection[str]) -> str:
        """Return the first operator that is wrong by itself on operands that it has in a scenario, or an empty string.

        Each application is run by itself, with leaves of the same shapes and numbers. Operands that are one tensor
        stay one, unless the engine gets shared tensors wrong. An operator that is known to hang counts as wrong.
        """

        def is_wrong(name: str) -> bool:
            hangs = self.engine.hangs(frozenset({name}))
            return hangs or self._any_wrong(map(self.isolated, isolated_applications(scenario, name)), EXACT)

        return next(filter(is_wrong, sorted(operators)), "")

    def right_meetings(self, operator: str) -> frozenset[Meeting]:
        """Return the ways in which operands may meet for which all trials of the isolated operator are right."""
        if operator not in self._meetings:
            profile = Profile(operators=frozenset({operator}), scalars_only=self.engine.adapter.scalars_only, empty=0.0)
            tried: dict[Meeting, list[bool]] = {}
            for seed in range(TRIED["tried_meetings"] if not self.engine.hangs(frozenset({operator})) else 0):
                scenario = operator_scenario(seed, operator, profile)
                shapes = {leaf.name: leaf.value.shape for leaf in scenario.leaves}
                met = tried.setdefault(meeting([shapes[name] for name in scenario.applications[0].arguments]), [])
                if len(met) < TRIED["enough_of_a_meeting"] and all(met):
                    scenario = self.isolated(scenario)
                    met.append(self.runnable(scenario) and examine(scenario, self.engine).outcome == "passed")
            self._meetings[operator] = frozenset(
                way for way, met in tried.items() if len(met) == TRIED["enough_of_a_meeting"] and all(met)
            )
        return self._meetings[operator]

    def reliable_on(self, behaviours: str, operators: frozenset[str]) -> bool:
        """Return True if the engine is right in all scenarios of a behaviour that use exactly these operators."""
        return all(trial.right for trial in self._tried(behaviours) if trial.scenario.operators == operators)

    def failing(self, behaviours: str) -> str:
        """Return the id of the first failing behaviour with this prefix on which others depend, or an empty string."""
        if behaviours not in self._failing:
            wrong = (trial for trial in self._tried(behaviours) if not trial.right)
            self._failing[behaviours] = next((t.behaviour for t in wrong if self._counts(t.scenario)), "")
        return self._failing[behaviours]

    def _counts(self, scenario: Scenario) -> bool:
        plain = scenario.operators <= PLAIN and not isolation.starts_at_leaf(scenario)
        return plain and not any(
            self.is_faulty(name)
            or self._any_wrong(map(self.seeded, map(with_own_operands, isolated_applications(scenario, name))), RIGHT)
            for name in scenario.operators
        )

    def _any_wrong(self, scenarios: Iterable[Scenario], right: frozenset[Outcome]) -> bool:
        """Return True if one of some scenarios with a single application is wrong."""
        return any(self._is_wrong(each, right) for each in scenarios if self.runnable(each))

    def is_faulty(self, operator: str) -> bool:
        """Return True if an operator is wrong by itself on scalars."""
        if operator not in self._faulty:
            joint = isolation.isolated(operator)
            hangs = self.engine.hangs(joint.operators)
            self._faulty[operator] = hangs or (self.runnable(joint) and self._is_wrong(joint, RIGHT))
        return self._faulty[operator]

    def _is_wrong(self, scenario: Scenario, right: frozenset[Outcome]) -> bool:
        """Return True if one application is wrong, and no loss of leaves by the engine explains it.

        A loss of leaves explains it if the application is right whenever a single operand requires grad.
        """
        if examine(scenario, self.engine).outcome in right:
            return False
        requiring = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
        single = [without_gradients_of(scenario, [other for other in requiring if other != name]) for name in requiring]
        return single in ([], [scenario]) or not all(examine(each, self.engine).outcome in right for each in single)
