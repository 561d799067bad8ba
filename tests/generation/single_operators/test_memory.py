"""Are operands, outputs and cotangents views in every run?"""

from collections import Counter

import numpy as np
import pytest

from refgrad.generation import Profile, memory_scenarios, memory_scenarios_of_second_order
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Detach, Slice
from tests.effort import each, sampled

pytestmark = pytest.mark.turns(2)

TABLE = operator_table()
OPERATORS = [name for name, row in TABLE.items() if row.differentiable_arguments]
VIEWS = {"transpose", "index", "broadcast_to"}


@pytest.mark.parametrize("operator", ["sin", "where", "softmax", "matmul", "concatenate", "layer_norm", "conv1d"])
def test_operands_are_transposed_stepped_over_reversed_offset_and_stretched(operator: str) -> None:
    made = [step for scenario in memory_scenarios(operator) for step in scenario.applications]
    assert {step.operator for step in made} >= VIEWS
    indices = [value for step in made if step.operator == "index" for _, value in step.attributes]
    slices = [part for index in indices if isinstance(index, tuple) for part in index if isinstance(part, Slice)]
    parts = {(part.start, part.step) for part in slices}
    assert parts >= {(None, 2), (None, -1), (2, None)}


def test_outputs_are_seen_transposed_and_summed() -> None:
    made = [(scenario, scenario.backwards[0][1].output) for scenario in memory_scenarios("multiply")]
    seen = [step.operator for scenario, output in made for step in scenario.applications if step.name == output]
    assert Counter(seen) >= Counter({"multiply": 1, "transpose": 2, "sum": 2})


def test_an_operand_is_a_view_of_another() -> None:
    made = [(s, step) for s in memory_scenarios("multiply") for step in s.applications if step.operator == "multiply"]
    shared = [s.definitions[step.arguments[1]] for s, step in made if len(s.leaves) == 1]
    views = [view.operator for view in shared if isinstance(view, Apply)]
    assert (views, [type(view) for view in shared if not isinstance(view, Apply)]) == (
        ["flip", "index", "transpose"],
        [Detach],
    )


def test_both_operands_are_transposed_and_one_is_part_of_wider_rows() -> None:
    made = [[step for step in s.applications if step.name.endswith("_view")] for s in memory_scenarios("matmul")]
    assert [view.operator for view in made[0]] == ["transpose", "transpose"]
    assert any(("index", (Slice(), Slice(1, 4))) in view.attributes for views in made for view in views)


def test_channels_come_last_and_a_number_stands_behind_another() -> None:
    views = [step for o in ("conv2d", "sqrt") for s in memory_scenarios(o) for step in s.applications[:1]]
    attributes = [attribute for view in views for attribute in view.attributes]
    assert ("axes", (0, 3, 1, 2)) in attributes
    assert ("index", (1,)) in attributes


@pytest.mark.parametrize("operator", sampled(OPERATORS[::6], 3, turns=3))
def test_every_operator_has_some_of_each_order(operator: str) -> None:
    assert len(memory_scenarios(operator)) >= 3
    twice = memory_scenarios_of_second_order(operator, Profile(), weighted=None)
    assert 1 <= len(twice) <= 2
    assert all(len(scenario.gradients) == 1 for scenario in twice)


@each("operator", OPERATORS[::6])
def test_entries_stay_in_the_domain(operator: str) -> None:
    for scenario in memory_scenarios(operator):
        assert all(np.all(np.isfinite(array)) for array in evaluate(scenario, Float64()).values())
