"""What every run tries of an operator's higher derivatives and of its forward mode."""

from collections.abc import Callable

import numpy as np
import pytest

from refgrad.generation import Profile, forward_cases, second_order_cases, third_order_cases
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Scenario
from tests.effort import each

Made = Callable[[str], tuple[Scenario, ...]]

MADE: dict[str, Made] = {
    "second order": lambda name: second_order_cases(name, Profile(), weighted=True),
    "third order": lambda name: third_order_cases(name, Profile()),
    "forward mode": lambda name: forward_cases(name, Profile()),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_every_option_of_an_attribute_is_tried(make: Made, mode: str) -> None:
    assert any(("mode", mode) in scenario.applications[0].attributes for scenario in make("convolve"))


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("stretched", [0, 1])
def test_each_of_two_operands_is_stretched(make: Made, stretched: int) -> None:
    shapes = [[scenario.leaves[place].value.shape for place in (0, 1)] for scenario in make("minimum")]
    assert any(len(pair[stretched]) < len(pair[1 - stretched]) for pair in shapes)


@pytest.mark.parametrize("order", ["second order", "third order"])
@pytest.mark.parametrize("by", ["x1", "x2"])
def test_the_first_gradient_is_that_by_each_operand(order: str, by: str) -> None:
    assert any(scenario.gradients[0].leaf == by for scenario in MADE[order]("multiply"))


def test_every_leaf_moves_and_each_by_itself() -> None:
    moving = [
        tuple(name for name, _ in jvp.tangents) for made in forward_cases("addcmul", Profile()) for jvp in made.jvps
    ]
    assert set(moving) == {("x1", "x2", "x3"), ("x1",), ("x2",), ("x3",)}


def test_one_leaf_moves_both_operands() -> None:
    cases = [case.applications[0].arguments for case in forward_cases("multiply", Profile())]
    assert [x for x, y in cases if x == y] == ["x1"]


@each("make", MADE.values())
@each("name", ["sin", "corrcoef", "set_at", "scatter_add", "det"])
def test_no_operand_is_empty_and_nothing_shows_the_same_twice(make: Made, name: str) -> None:
    made = make(name)
    assert made
    assert len(set(made)) == len(made)
    assert all(leaf.value.size for scenario in made for leaf in scenario.leaves)


def test_where_the_second_operand_is_stretched_the_result_depends_on_it() -> None:
    cases = ((case, [leaf.value.shape for leaf in case.leaves]) for case in forward_cases("set_at", Profile()))
    stretched = [case for case, shapes in cases if len(shapes) > 1 and shapes[0] != shapes[1]]
    assert any(_holds_an_entry_of_the_second(scenario) for scenario in stretched)


def _holds_an_entry_of_the_second(scenario: Scenario) -> bool:
    (application,) = scenario.applications
    values = evaluate(scenario, Float64())
    return bool(np.isin(values[scenario.leaves[1].name], values[application.name]).any())
