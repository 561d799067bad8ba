"""Tests that every random graph is valid, and within its profile."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from refgrad.generation import GenerationError, Profile, random_scenario
from refgrad.interpreter import float64_values
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, parse
from refgrad.strategies import scenarios
from tests.effort import each, seeds
from tests.generation.scenario_audit import complaints

pytestmark = pytest.mark.turns(2)

SEEDS = st.integers(0, 2**64 - 1)
ARITHMETIC = frozenset({"add", "multiply", "negative"})

PROFILES = {
    "standard": Profile(),
    "long": Profile(length=(20, 20)),
    "scalars": Profile(scalars_only=True, seeds=False),
    "without seeds": Profile(seeds=False),
    "one backward": Profile(max_backwards=1),
    "many backwards": Profile(max_backwards=6),
    "without accumulation": Profile(accumulate=False, max_backwards=4),
    "edges": Profile(edges=0.5),
    "matrices": Profile(max_rank=2, dimensions=(2, 4), empty=0.0, constants=0.0),
    "empty": Profile(empty=1.0),
    "few operators": Profile(operators=ARITHMETIC, seeds=False),
    "structural operators": Profile(operators=frozenset({"matmul", "reshape", "sum", "index"}), seeds=False),
    "single precision": Profile(dtype="float32"),
    "mostly constants": Profile(constants=1.0, unused_leaves=1.0),
}


@pytest.mark.parametrize("name", PROFILES)
@given(SEEDS)
@example(164_564)  # of single precision: a bound that is 0.001 away, but for the rounding of float32
def test_a_seeded_scenario_satisfies_its_profile(name: str, seed: int) -> None:
    assert complaints(random_scenario(seed, PROFILES[name]), PROFILES[name]) == []


def test_a_matrix_that_is_singular_but_for_rounding_is_not_inverted() -> None:
    """Seed 133 draws a matrix of four equal entries, which reflections make regular by a rounding error."""
    profile = PROFILES["single precision"]
    assert complaints(random_scenario(133, profile), profile) == []


@given(SEEDS)
def test_a_computed_operand_keeps_away_from_the_bounds_of_its_range(seed: int) -> None:
    """PyTorch's cross product of a vector with itself is not exactly 0, and below 0 is no probability."""
    scenario = random_scenario(seed, Profile(operators=frozenset({"bce", "cross", "relu", "subtract"}), empty=0.0))
    values = float64_values(scenario)
    computed = {step.name for step in scenario.applications}
    for step in scenario.applications:
        if step.operator == "bce" and step.arguments[1] in computed:
            assert np.all(np.abs(values[step.arguments[1]] - 0.5) < 0.4995)


@pytest.mark.parametrize("name", ["standard", "without seeds", "scalars", "without accumulation", "edges"])
def test_a_drawn_scenario_satisfies_its_profile(name: str) -> None:
    """Examples of a database are shrunk ones, which need not read every gradient."""

    @settings(database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(scenarios(PROFILES[name]))
    def check(scenario: Scenario) -> None:
        assert complaints(scenario, PROFILES[name]) == []

    check()


@given(SEEDS)
def test_a_scenario_survives_its_text_and_its_json(seed: int) -> None:
    scenario = random_scenario(seed)
    assert parse(scenario.text) == scenario
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_a_seed_makes_the_same_scenario_every_time() -> None:
    assert [random_scenario(seed).id for seed in range(30)] == [random_scenario(seed).id for seed in range(30)]
    assert len({random_scenario(seed).id for seed in range(200)}) == 200


@each("name", operator_table())
def test_a_profile_of_one_operator_makes_scenarios_of_it(name: str) -> None:
    profile = Profile(operators=frozenset({name}), length=(1, 3))
    for seed in range(3):
        scenario = random_scenario(seed, profile)
        assert scenario.operators == {name}
        assert complaints(scenario, profile) == []


@each("name", [n for n, row in operator_table().items() if row.edges])
def test_without_edges_a_tied_operand_is_not_used(name: str) -> None:
    profile = Profile(operators=frozenset({name}), length=(1, 6))
    assert all(complaints(random_scenario(seed, profile), profile) == [] for seed in seeds(20))


def test_a_profile_that_admits_nothing_is_an_error() -> None:
    with pytest.raises(GenerationError, match="could not be applied"):
        random_scenario(0, Profile(operators=frozenset({"squeeze"}), max_rank=0))
    with pytest.raises(GenerationError, match="allows no operator"):
        random_scenario(0, Profile(operators=frozenset({"matmul"}), scalars_only=True))
    with pytest.raises(GenerationError, match="no result is a scalar"):
        random_scenario(0, Profile(operators=frozenset({"expand_dims"}), seeds=False))


def test_scenarios_do_not_touch_the_error_state_of_numpy() -> None:
    before = np.geterr()
    random_scenario(0)
    assert np.geterr() == before
