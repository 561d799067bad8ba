"""Tests that scenarios of third order differentiate a gradient of a gradient, only where every engine records it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.generation import GenerationError, Profile, third_order_scenario
from refgrad.lifecycle import Open, Prediction, Succeeds, predict
from refgrad.operators import operator_table
from refgrad.scenario import Grad, Leaf, Scenario, parse
from tests.generation.triple_backward import triple_backward_scenario

OPERATORS = [name for name, operator in operator_table().items() if operator.differentiable_arguments]
FLAT = [name for name in OPERATORS if all(map(operator_table()[name].vanishes, operator_table()[name].argument_names))]
"""Operators whose derivative is zero wherever there is one."""


@given(name=st.sampled_from(OPERATORS), seed=st.integers(0, 2**64 - 1))
def test_one_operator_is_differentiated_thrice(name: str, seed: int) -> None:
    scenario = third_order_scenario(seed, name)
    first, second = scenario.gradients
    assert scenario.applications[0].operator == name
    assert [backward.output for _, backward in scenario.backwards] == [second.name]
    assert first.name in {second.output, *(a for step in scenario.applications for a in step.arguments)}
    assert scenario == third_order_scenario(seed, name)
    assert parse(scenario.text) == scenario


@given(
    name=st.sampled_from([
        name for name in OPERATORS if name not in FLAT and operator_table()[name].family != "scattering"
    ]),
    seed=st.integers(0, 2**64 - 1),
)
def test_both_gradients_are_surely_recorded(name: str, seed: int) -> None:
    scenario = third_order_scenario(seed, name)
    assume(has_effect(scenario))
    assert of_gradients(scenario) == [Succeeds(), Succeeds()]


@pytest.mark.parametrize("name", [*FLAT, "copysign"])
def test_of_gradients_that_are_always_zero_none_is_surely_recorded(name: str) -> None:
    flat = [s for s in (third_order_scenario(seed, name) for seed in range(60)) if not has_effect(s)]
    seconds = {second for first, second in map(of_gradients, flat) if first == Succeeds()}
    assert {Open()} <= seconds <= {Open(), Succeeds()}


def test_an_operand_without_effect_is_not_differentiated_by() -> None:
    """The slope of copysign is a sign in its first operand, and zero in its second."""
    copies = [third_order_scenario(seed, "copysign") for seed in range(100)]
    both = [s for s in copies if len({leaf.name for leaf in operands(s) if leaf.requires_grad}) == 2]
    by = {grad.leaf for s in both for grad in s.gradients}
    assert {"x1"} <= by <= {"x1", "w", "v"}


def operands(scenario: Scenario) -> list[Leaf]:
    return [leaf for name in scenario.applications[0].arguments for leaf in scenario.leaves if leaf.name == name]


def has_effect(scenario: Scenario) -> bool:
    """Whether a leaf that requires grad is an operand by which the derivative is not always zero."""
    row = operator_table()[scenario.applications[0].operator]
    pairs = zip(row.argument_names, operands(scenario), strict=False)
    return any(leaf.requires_grad and (row.arguments[-1].variadic or not row.vanishes(name)) for name, leaf in pairs)


def of_gradients(scenario: Scenario) -> list[Prediction]:
    promised = zip(scenario.steps, predict(scenario), strict=True)
    return [prediction for step, prediction in promised if isinstance(step, Grad)]


@pytest.mark.parametrize("name", ["exp", "multiply", "sum"])
def test_all_forms_occur(name: str) -> None:
    scenarios = [third_order_scenario(seed, name) for seed in range(100)]
    assert any("w" in scenario.definitions for scenario in scenarios)
    assert any("squared" in scenario.definitions for scenario in scenarios)
    assert any("v" in scenario.definitions for scenario in scenarios)
    plain = any(not {"w", "squared"} & scenario.definitions.keys() for scenario in scenarios)
    assert plain == (name != "sum")


@given(seed=st.integers(0, 2**64 - 1))
def test_graphs_are_differentiated_thrice(seed: int) -> None:
    scenario = triple_backward_scenario(seed)
    assert len(scenario.gradients) == 2
    assert len(scenario.backwards) == 1


def test_a_graph_needs_products() -> None:
    with pytest.raises(GenerationError, match="multiply"):
        triple_backward_scenario(0, Profile(operators=frozenset({"exp"})))
