"""What can an engine be relied on for, when something else of it is tried?

What its behaviours show decides how scenarios are written: an engine that loses a contribution where a tensor is used
twice is not told so again by each of its operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from refgrad.harness.behaviours import all_behaviours
from refgrad.harness.examination import examine
from refgrad.harness.isolation import (
    shows_arrays,
    with_one_leaf,
    with_operands_read,
    with_own_operands,
    without_constants,
)
from refgrad.harness.seedless import without_seeds
from refgrad.harness.verdict import Finding
from refgrad.lifecycle import required_features
from refgrad.native.engine import Engine
from refgrad.scenario import Scenario

SEEDS_STAY: Final = "contracts/seeds_stay_as_they_are"
"""The behaviour that says once whether backwards write to seeds."""

PLAIN: Final = frozenset({"add", "subtract", "multiply", "negative", "square", "reciprocal", "exp", "sin", "sum"})
"""What is shown with other operators may be their fault: a wrong matmul is no reason to doubt accumulation."""


@dataclass(slots=True)
class Reliance:
    """What a started engine has, and which behaviours it shows; each is tried once."""

    engine: Engine
    _shown_right: dict[str, Mapping[frozenset[str], bool]] = field(default_factory=dict, init=False)

    @property
    def takes_seeds(self) -> bool:
        """Whether a seed can be relied on to reach the rules; if not, outputs are weighted and summed instead.

        A seed that arrives through some operators is not what is wrong with others.
        """
        return "seed" in self.engine.adapter.features and any(self._passes("seeds/").values())

    def _passes(self, behaviours: str) -> Mapping[frozenset[str], bool]:
        """Whether the engine shows the right arrays in all behaviours of this prefix, by the operators used there."""
        if behaviours not in self._shown_right:
            chosen = [b for b in all_behaviours() if b.id.startswith(behaviours)]
            passed: dict[frozenset[str], bool] = {}
            for scenario in (s for b in chosen for s in b.scenarios if self.runnable(s)):
                if shows_arrays(scenario):
                    so_far = passed.get(scenario.operators, True)
                    passed[scenario.operators] = so_far and not self.examined(scenario, behaviours).failed
            self._shown_right[behaviours] = passed
        return self._shown_right[behaviours]

    def examined(self, scenario: Scenario, check: str) -> Finding:
        """Return what a scenario shows; that seeds are written to is told once, by a behaviour."""
        about_rules = check.startswith("contracts/")
        seeds = check == SEEDS_STAY or (about_rules and all(self._passes(SEEDS_STAY).values()))
        return examine(scenario, self.engine, seeds=seeds)

    def lacking(self, scenario: Scenario) -> list[str]:
        """What the engine would need for a scenario: features, and operators."""
        features = sorted(required_features(scenario) - self.engine.adapter.features)
        features += [f"dtype {dtype}" for dtype in self.engine.adapter.dtypes_lacking(scenario)]
        return features + [f"operator {name}" for name in sorted(scenario.operators - self.engine.operators.keys())]

    def runnable(self, scenario: Scenario) -> bool:
        """Whether the engine has all that a scenario uses."""
        return not self.lacking(scenario)

    def isolated(self, scenario: Scenario) -> Scenario:
        """Try the operator in a way that relies on nothing that the engine gets wrong around it."""
        if not self.reliable("sharing/"):
            scenario = with_own_operands(scenario)
        if not self.reliable("leaves/constants_stop_gradients"):
            scenario = without_constants(scenario)
        if not self.reliable("leaves/every_leaf_is_served"):
            scenario = with_one_leaf(scenario)
        scenario = with_operands_read(scenario, early=not self.reliable("values/"))
        return self.seeded(scenario)

    def seeded(self, scenario: Scenario) -> Scenario:
        """Return the scenario, without seeds if they cannot be relied on."""
        return scenario if self.takes_seeds else without_seeds(scenario)

    def reliable_on(self, behaviours: str, operators: frozenset[str]) -> bool:
        """Whether it shows them in those scenarios of a behaviour that use these operators."""
        return self._passes(behaviours).get(operators, True)

    def reliable(self, behaviours: str) -> bool:
        """Whether the engine shows the right arrays in all behaviours of this prefix, as far as plain operators go."""
        return all(right for operators, right in self._passes(behaviours).items() if operators <= PLAIN)
