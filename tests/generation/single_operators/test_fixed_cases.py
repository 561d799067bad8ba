"""The fixed cases of an operator hold what no run may miss, whatever is drawn."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from refgrad.generation import Profile, fixed_cases, operator_scenario
from refgrad.generation.admission import AppliedOperator
from refgrad.generation.profile import COUNTS
from refgrad.generation.single_operators.fixed_cases import CASES
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from tests.effort import each, sampled

TABLE = operator_table()
FORMULAS = [name for name, row in TABLE.items() if row.elementwise and not row.edges]
FITTED = [name for name, row in TABLE.items() if row.attributes or not row.elementwise]
"""Operators that do not take whatever broadcasts."""


def first_shapes(operator: str, profile: Profile = Profile()) -> set[tuple[int, ...]]:  # noqa: B008 (frozen)
    return {scenario.leaves[0].value.shape for scenario in fixed_cases(operator, profile)}


@each("operator", FORMULAS)
def test_a_formula_meets_every_shape(operator: str) -> None:
    assert first_shapes(operator) >= {shape for shapes in CASES for shape in shapes}


@pytest.mark.parametrize("operator", ["multiply", "lerp", "where", "concatenate", "linear", "addcmul"])
def test_every_subset_of_the_operands_wants_gradients(operator: str) -> None:
    first = fixed_cases(operator)[1]
    names = [leaf.name for leaf in first.leaves if leaf.value.dtype != "bool"]
    subsets = {frozenset(c) for count in range(1, len(names) + 1) for c in combinations(names, count)}
    wanted = {
        frozenset(leaf.name for leaf in scenario.leaves if leaf.requires_grad)
        for scenario in fixed_cases(operator)
        if [leaf.name for leaf in scenario.leaves] == [leaf.name for leaf in first.leaves]
    }
    assert wanted == subsets


@pytest.mark.parametrize("operator", ["add", "power", "matmul", "stack", "hypot"])
def test_one_leaf_stands_for_several_operands(operator: str) -> None:
    assert any(len(set(s.applications[0].arguments)) == 1 for s in fixed_cases(operator))


@pytest.mark.parametrize(
    ("operator", "attribute"),
    sampled([(row.name, a.name) for row in TABLE.values() for a in row.attributes if a.type == "option"], 3, turns=3),
)
def test_every_option_that_random_scenarios_have_is_met(operator: str, attribute: str) -> None:
    def met(scenarios: Iterable[Scenario]) -> set[object]:
        attributes = (dict(scenario.applications[0].attributes) for scenario in scenarios)
        return {TABLE[operator].bind(each)[attribute] for each in attributes}

    assert met(fixed_cases(operator)) >= met(operator_scenario(seed, operator) for seed in range(12))


@pytest.mark.parametrize(("operator", "zeros"), [("prod", 1), ("prod", 3), ("multiply", 1), ("exp", 3)])
def test_zeros_are_met(operator: str, zeros: int) -> None:
    assert any(list(s.leaves[0].value.to_numpy().flat).count(0.0) == zeros for s in fixed_cases(operator))


@pytest.mark.parametrize("operator", sampled(FITTED, 6, turns=3))
def test_operands_and_attributes_fit_one_another(operator: str) -> None:
    for scenario in fixed_cases(operator):
        values, (step,) = evaluate(scenario, Float64()), scenario.applications
        assert AppliedOperator.of(step, values).well_formed


def test_a_variadic_operator_takes_many_operands_and_one() -> None:
    counts = {len(scenario.applications[0].arguments) for scenario in fixed_cases("concatenate")}
    assert {1, 5, 9} <= counts


@pytest.mark.parametrize("operator", ["sort", "logcumsumexp", "exp"])
def test_no_array_is_larger_than_the_oracle_is_fast(operator: str) -> None:
    sizes = {leaf.value.size for scenario in fixed_cases(operator) for leaf in scenario.leaves}
    assert max(sizes) <= COUNTS["largest_case"]


def test_an_engine_of_scalars_gets_scalars() -> None:
    assert first_shapes("multiply", Profile(scalars_only=True)) == {()}


def test_fixed_cases_are_those_of_the_profile() -> None:
    narrow = fixed_cases("exp", Profile(dtype="float32"))
    assert {leaf.value.dtype for scenario in narrow for leaf in scenario.leaves} == {"float32"}


@pytest.mark.parametrize("operator", ["exp", "concatenate", "matmul"])
@pytest.mark.parametrize("most", [0, 1, 12])
def test_as_many_as_are_wanted_are_the_first(operator: str, most: int) -> None:
    assert fixed_cases(operator, most=most) == fixed_cases(operator)[:most]


@pytest.mark.parametrize("operator", ["multiply", "matmul", "exp", "divide"])
def test_all_operands_are_powers_of_two_in_some_case(operator: str) -> None:
    cases = ([np.abs(leaf.value.to_numpy()) for leaf in case.leaves] for case in fixed_cases(operator))
    assert any(all(np.size(each) > 1 and np.all(np.frexp(each)[0] == 1 / 2) for each in case) for case in cases)


@pytest.mark.parametrize("shapes", [((2, 1), (1, 3)), ((1, 3), (3, 1)), ((2, 1, 2, 1, 2), (2, 2, 1, 2, 2))])
def test_both_operands_are_stretched(shapes: tuple[tuple[int, ...], ...]) -> None:
    assert shapes in [tuple(leaf.value.shape for leaf in case.leaves) for case in fixed_cases("multiply")]


@pytest.mark.parametrize("operator", ["index", "take", "embedding", "index_select", "take_flat"])
def test_an_entry_is_read_many_times(operator: str) -> None:
    indices = [np.ravel(each) for case in fixed_cases(operator) for each in _indices(case) if np.size(each) > 1]
    assert max(int(np.unique(each, return_counts=True)[1].max()) for each in indices) >= COUNTS["uses_of_an_entry"]


def _indices(case: Scenario) -> Iterator[Any]:
    """Yield the arrays of indices among the attributes of a case."""
    attributes: dict[str, Any] = dict(case.applications[0].attributes)
    yield from attributes["index"] if "index" in attributes else [attributes["indices"]]


def test_seeds_are_very_small_and_large() -> None:
    seeds = [
        np.abs(start.seed.to_numpy()).max()
        for case in fixed_cases("exp")
        for _, start in case.backwards
        if start.seed is not None and start.seed.to_numpy().size
    ]
    assert min(seeds) < 1e-290
    assert max(seeds) > 1e5


@pytest.mark.parametrize("operator", ["conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"])
def test_a_convolution_in_groups_is_dilated_and_strided_too(operator: str) -> None:
    largest = {attribute.name: int(attribute.bounds[1]) for attribute in TABLE[operator].attributes}
    cases = [case for case in fixed_cases(operator) if dict(case.applications[0].attributes) == largest]
    shapes = [[leaf.value.shape[:2] for leaf in case.leaves] for case in cases]
    assert [(4, 2), (4,)] in [each[1:] for each in shapes]
