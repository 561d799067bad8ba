"""Tests of how small hypothesis itself makes a drawn scenario."""

from collections.abc import Callable
from random import Random
from statistics import median

import pytest
from hypothesis import HealthCheck, find, settings

from refgrad.generation import shrink
from refgrad.scenario import Scenario
from refgrad.strategies import scenarios
from tests.generation.planted_faults import FAULTS, second_backward_overwrites, wrong_tanh

DETERMINISTIC = settings(
    max_examples=2000,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


UNSEEDED = settings(DETERMINISTIC, derandomize=False)


@pytest.mark.parametrize(("fault", "operators"), [(wrong_tanh, 2), (second_backward_overwrites, 2)])
def test_a_planted_fault_shrinks_to_a_few_operators(fault: Callable[[Scenario], bool], operators: int) -> None:
    """Hypothesis now and then stops one operator earlier."""
    found = [find(scenarios(), fault, settings=UNSEEDED, random=Random(seed)) for seed in range(3)]  # noqa: S311 (no secret)
    assert median(len(scenario.applications) for scenario in found) <= operators


def test_the_simplest_scenario_is_one_operator_on_one_leaf() -> None:
    """Hypothesis now and then stops at leaves of two entries, depending on what else is imported; never at more."""
    found = [find(scenarios(), lambda _: True, settings=UNSEEDED, random=Random(seed)) for seed in range(5)]  # noqa: S311 (no secret)
    assert all(len(simplest.applications) == 1 and len(simplest.leaves) <= 2 for simplest in found)
    sizes = [max(leaf.value.size for leaf in simplest.leaves) for simplest in found]
    assert max(sizes) <= 2
    assert min(sizes) <= 1


def test_what_hypothesis_leaves_shrinks_further_here() -> None:
    drawn = find(scenarios(), FAULTS["fan-out overwritten"], settings=DETERMINISTIC)
    assert len(shrink(drawn, FAULTS["fan-out overwritten"]).steps) <= 5
