"""Tests of the operators that engines fuse: every row is tried with several values, and no operator that is lacking."""

from itertools import chain

from refgrad.generation import Profile, neighbours
from refgrad.generation.neighbours import ROWS
from refgrad.operators import operator_table

LEAST = 2
"""Settings of values that each row admits; logarithms and roots have few."""


def test_each_row_is_tried_with_several_settings_of_values() -> None:
    scenarios = list(neighbours(Profile()))
    assert len(set(scenarios)) == len(scenarios)
    for name, text in ROWS["patterns"].items():
        operators = [call.split()[2] for call in text.split("; ")]
        own = [each for each in scenarios if [step.operator for step in each.applications] == operators]
        assert len(own) >= LEAST, name


def test_the_values_are_those_of_a_setting() -> None:
    settings = [[sorted(chain(*rows)) for rows in leaves] for leaves in ROWS["settings"].values()]
    for scenario in neighbours(Profile()):
        leaves = [sorted(leaf.value.to_numpy().ravel().tolist()) for leaf in scenario.leaves]
        assert any(all(leaf in values for leaf in leaves) for values in settings)


def test_an_operator_that_is_not_allowed_is_not_tried() -> None:
    without = frozenset(operator_table()) - {"exp"}
    tried = [scenario.operators for scenario in neighbours(Profile(operators=without))]
    assert tried
    assert not any("exp" in operators for operators in tried)


def test_operators_follow_each_other_in_either_order() -> None:
    pairs = {tuple(step.operator for step in scenario.applications) for scenario in neighbours(Profile())}
    assert {("negative", "tanh"), ("tanh", "negative"), ("add", "matmul"), ("square", "log")} <= pairs
