"""How long does it take to make a scenario of twenty operators, and to shrink one?"""

from collections.abc import Callable
from itertools import count
from statistics import median
from typing import Any

import pytest

from refgrad.generation import Profile, find_counterexample, operator_scenario, random_scenario, shrink
from refgrad.scenario import Scenario
from tests.benchmarks.drawn_scenarios import cost_ratios

TWENTY = Profile(length=(20, 20))
ROUNDS = 200

pytestmark = pytest.mark.benchmark_run

Benchmark = Any


def contains_tanh(scenario: Scenario) -> bool:
    return "tanh" in scenario.operators


def per_seed(make: Callable[[int], object]) -> Callable[[], object]:
    seeds = count()
    return lambda: make(next(seeds))


def test_a_seeded_scenario_of_twenty_operators(benchmark: Benchmark) -> None:
    benchmark.pedantic(
        per_seed(lambda seed: random_scenario(seed, TWENTY)), rounds=ROUNDS, iterations=5, warmup_rounds=50
    )


def test_a_seeded_scenario_of_the_standard_profile(benchmark: Benchmark) -> None:
    benchmark.pedantic(per_seed(random_scenario), rounds=ROUNDS, iterations=5, warmup_rounds=50)


def test_a_scenario_of_one_operator(benchmark: Benchmark) -> None:
    benchmark.pedantic(per_seed(lambda seed: operator_scenario(seed, "matmul")), rounds=ROUNDS, iterations=5)


def test_a_drawn_scenario_costs_at_most_twice_a_seeded_one() -> None:
    """CPU time, side by side, so that other load takes part in both; without what hypothesis takes for any example."""
    assert median(ours for ours, _ in map(cost_ratios, range(5))) <= 2


def test_a_search_of_a_hundred_examples(benchmark: Benchmark) -> None:
    benchmark.pedantic(
        lambda: find_counterexample(random_scenario, lambda _: False, seed=0, max_examples=100), rounds=5
    )


def test_shrinking_a_scenario_of_twenty_operators(benchmark: Benchmark) -> None:
    found = [scenario for seed in range(200) if contains_tanh(scenario := random_scenario(seed, TWENTY))]
    scenarios_in_turn = iter(found * 10)
    benchmark.pedantic(lambda: shrink(next(scenarios_in_turn), contains_tanh), rounds=50)
