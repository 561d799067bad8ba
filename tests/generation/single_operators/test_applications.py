"""An operator is applied twice, to other numbers of the same shapes, before the backward from the first result."""

import numpy as np
import pytest

from refgrad.generation import applied_twice
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
