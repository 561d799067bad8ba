"""Tests that the certified oracle can tell what is right in generated scenarios."""

import numpy as np
import pytest

from refgrad.generation import Profile, edge_scenario, operator_scenario, random_scenario
from refgrad.operators import Edge, operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Scenario
from tests.effort import each, seeds
from tests.generation.scenario_audit import reached

pytestmark = pytest.mark.turns(2)

SHARPNESS = 1e-6
"""A budget of more than this fraction of the truth, or of one, would tell nothing of an engine."""


def conclusive(scenario: Scenario) -> bool:
    oracle = CertifiedOracle(scenario)
    for leaf in scenario.leaves:
        backwards = [step for _, step in scenario.backwards if leaf.name in reached(scenario, step.output)]
        if leaf.requires_grad and backwards:
            certified = oracle.gradient(leaf.name, tuple((step.output, step.seed) for step in backwards))
            size = SHARPNESS * np.maximum(1, np.abs(certified.midpoint))
            if not np.all((certified.budget <= size) & (certified.radius <= size)):
                return False
    return True


@pytest.mark.parametrize("profile", [Profile(), Profile(length=(20, 20)), Profile(scalars_only=True)], ids=repr)
def test_scenarios_off_their_edges_are_conclusive(profile: Profile) -> None:
    scenarios = [random_scenario(seed, profile) for seed in seeds(300)]
    assert sum(map(conclusive, scenarios)) >= 0.97 * len(scenarios)


def test_scenarios_of_one_operator_are_conclusive() -> None:
    scenarios = [operator_scenario(seed, name) for name in operator_table() for seed in range(2)]
    assert sum(map(conclusive, scenarios)) >= 0.97 * len(scenarios)


def parts_slopes(edge: Edge) -> bool:
    """Whether the slopes beside an edge differ; those beside huber's do not, nor do those beside a floor's jump."""
    return edge.kind == "kink" and any(low != high for low, high in edge.subdifferential.values())


@each("name", [n for n, row in operator_table().items() if any(map(parts_slopes, row.edges))])
def test_scenarios_on_a_kink_mostly_are_not(name: str) -> None:
    scenarios = [edge_scenario(seed, name) for seed in range(20)]
    assert sum(map(conclusive, scenarios)) <= 10
