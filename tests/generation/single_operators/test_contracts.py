"""Every contract check tries scenarios whose seeds are ones, for which a rule may hand on what it has saved."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.generation import Profile, scenarios_of_freed_values
from refgrad.generation.profile import COUNTS
from refgrad.generation.single_operators.memory import contract_scenarios_of_ones
from refgrad.lifecycle import Fails, predict
from refgrad.operators import operator_table

ELEMENTWISE_OF_TWO = sorted(
    row.name for row in operator_table().values() if row.operands == "broadcast" and len(row.arguments) == 2
)


@pytest.mark.parametrize("operator", ELEMENTWISE_OF_TWO)
def test_one_of_them_stretches_no_operand(operator: str) -> None:
    scenarios = contract_scenarios_of_ones(operator, Profile(operators=frozenset({operator, "multiply"})))
    assert len(scenarios) == COUNTS["cases_of_ones"]
    shapes = [[leaf.value.shape for leaf in scenario.leaves if leaf.name != "factor"] for scenario in scenarios]
    assert any(len(set(each)) == 1 for each in shapes)


@pytest.mark.parametrize("operator", ["exp", "multiply", "matmul", "sum", "where"])
def test_their_seeds_are_ones(operator: str) -> None:
    scenarios = contract_scenarios_of_ones(operator, Profile(operators=frozenset({operator, "multiply"})))
    seeds = [walk.seed for scenario in scenarios for _, walk in scenario.backwards]
    assert len(seeds) == 3 * len(scenarios) > 0
    assert all(seed is not None and np.all(seed.to_numpy() == 1.0) for seed in seeds)


@pytest.mark.parametrize("operator", ["exp", "multiply", "where", "huber"])
def test_a_second_backward_must_fail_where_a_rule_keeps_values(operator: str) -> None:
    (scenario,) = scenarios_of_freed_values(operator, Profile(operators=frozenset({operator})))
    *_, last = predict(scenario)
    assert isinstance(last, Fails)


def test_a_rule_that_keeps_nothing_need_not_fail() -> None:
    assert scenarios_of_freed_values("add", Profile(operators=frozenset({"add"}))) == ()
