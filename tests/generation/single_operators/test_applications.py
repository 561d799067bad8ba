"""An operator is applied twice, to other numbers of the same shapes, before the backward from the first result."""

import numpy as np
import pytest

from refgrad.generation import applied_again, applied_twice
from refgrad.interpreter import Float64, evaluate


@pytest.mark.parametrize("operator", ["tanh", "matmul", "where", "softmax", "conv1d", "solve", "index_put"])
def test_both_applications_have_the_same_shapes_and_only_the_first_is_walked(operator: str) -> None:
    (scenario,) = applied_twice(operator)
    first, another = scenario.applications
    values = evaluate(scenario, Float64())
    assert (first.operator, another.operator, another.attributes) == (operator, operator, first.attributes)
    assert values[first.name].shape == values[another.name].shape
    assert not np.array_equal(values[first.name], values[another.name])
    assert [backward.output for _, backward in scenario.backwards] == [first.name]


@pytest.mark.parametrize("operator", ["cumsum", "softmax", "chunk", "flip", "addmm"])
def test_an_operator_is_applied_to_the_same_operands_with_other_attributes(operator: str) -> None:
    scenarios = applied_again(operator)
    assert [[step.name for step in each.applications] for each in scenarios] == [["a1", "another"], ["another", "a1"]]
    for scenario in scenarios:
        first, second = scenario.applications
        assert first.arguments == second.arguments
        assert first.attributes != second.attributes


def test_an_operator_without_attributes_is_not_applied_again() -> None:
    assert applied_again("exp") == ()
