"""Tests that a scenario about one operator tries that operator, adversarially, and its edges exactly."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice, tee
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import GenerationError, Profile, edge_scenario, operator_scenario, random_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Constant, Leaf, Scenario
from tests.effort import each, seeds
from tests.generation.scenario_audit import complaints, entries_on_edges

OPERATORS = tuple(operator_table())
WITH_EDGES = tuple(name for name, row in operator_table().items() if row.edges)
SEEDS = range(60)
Thing = TypeVar("Thing")


@pytest.mark.parametrize("profile", [Profile(), Profile(seeds=False), Profile(dtype="float32")], ids=repr)
@given(name=st.sampled_from(OPERATORS), seed=st.integers(0, 2**64 - 1))
def test_a_scenario_applies_the_operator_once(profile: Profile, name: str, seed: int) -> None:
    scenario = operator_scenario(seed, name, profile)
    assert scenario.applications[0].operator == name
    assert len(scenario.applications) <= (1 if profile.seeds else 2)
    assert complaints(scenario, profile, alone=True) == []


@pytest.mark.parametrize("name", WITH_EDGES)
def test_an_edge_scenario_has_an_entry_on_an_edge(name: str) -> None:
    for seed in seeds(60):
        scenario = edge_scenario(seed, name)
        assert scenario.applications[0].operator == name
        assert entries_on_edges(scenario)
        assert complaints(scenario, Profile(edges=1.0), alone=True) == []


NEVER_TWICE = frozenset({"matmul", "cdist", "l1_loss", "remainder", "fmod", "floor_divide"})
"""Operators of two arrays that the generator never makes one.

A product's need other shapes, the distance of equal points has a kink, and the quotient and the remainder of a number
by itself have a jump.
"""

VECTORS_ALONE = frozenset({"meshgrid"})
"""Operators of any number of vectors, which have no other shapes."""


def _alike(x: str = "", y: str = "") -> bool:
    """Whether one array may fit two patterns."""
    return "..." in x + y or len(x.split()) == len(y.split())


@each("name", WITH_EDGES)
def test_every_example_of_an_edge_is_tried(name: str) -> None:
    row = operator_table()[name]
    examples = [example for edge in row.edges for example in edge.examples]
    operands = [value for example in examples for key, value in example.items() if key in row.argument_names]
    wanted = {word for value in operands for word in Constant.of(np.array(value)).words()}
    leaves = (leaf for seed in range(100) for leaf in edge_scenario(seed, name).leaves)
    assert missed(wanted, (leaf.value.words() for leaf in leaves)) == set()


def missed(wanted: Iterable[object], seen: Iterable[Iterable[object]]) -> set[object]:
    """Which of the wanted things are never seen; once all of them were, nothing more is looked at."""
    left = set(wanted)
    for things in seen:
        left.difference_update(things)
        if not left:
            break
    return left


@each("name", [n for n in OPERATORS if not operator_table()[n].shapes and n not in VECTORS_ALONE])
def test_shapes_are_adversarial(name: str) -> None:
    leaves = (leaf for seed in SEEDS for leaf in operator_scenario(seed, name).leaves)
    assert any(are_adversarial(shapes) for shapes in so_far(leaf.value.shape for leaf in leaves))


def are_adversarial(shapes: AbstractSet[tuple[int, ...]]) -> bool:
    """Whether there are many, one with equal lengths and one with different lengths among them."""
    return (
        len(shapes) >= 8
        and any(len(set(shape)) < len(shape) and max(shape) > 1 for shape in shapes)
        and any(len(set(shape)) > 1 and max(shape) > 1 for shape in shapes)
    )


def so_far(things: Iterable[Thing]) -> Iterator[AbstractSet[Thing]]:
    """Yield which different things there were up to each."""
    seen: set[Thing] = set()
    for thing in things:
        seen.add(thing)
        yield seen


@pytest.mark.parametrize("name", VECTORS_ALONE)
def test_vectors_have_many_lengths_together(name: str) -> None:
    drawn = {tuple(leaf.value.shape for leaf in _operands(operator_scenario(seed, name))) for seed in SEEDS}
    assert len(drawn) >= 8
    assert any(len(set(shapes)) < len(shapes) for shapes in drawn)
    assert any(len(set(shapes) - {(0,), (1,)}) > 1 for shapes in drawn)


@each("name", [name for name in OPERATORS if operator_table()[name].shapes])
def test_a_pattern_is_met_by_several_shapes(name: str) -> None:
    drawn = (tuple(leaf.value.shape for leaf in _operands(operator_scenario(seed, name))) for seed in SEEDS)
    assert any(len(kinds) >= 3 for kinds in so_far(drawn))


@each("name", [n for n, row in operator_table().items() if len(row.differentiable_arguments) > 1])
def test_an_operand_is_constant_on_either_side_or_twice_the_same(name: str) -> None:
    scenarios = (operator_scenario(seed, name) for seed in range(5000))
    pairs = ([leaf for leaf in _operands(s) if leaf.value.dtype != "bool"][-2:] for s in scenarios)
    first, every = tee(pairs)
    flags = ([tuple(leaf.requires_grad for leaf in pair)] for pair in islice(first, 200))
    assert missed({(True, True), (True, False), (False, True)}, flags) == set()
    never = name in NEVER_TWICE or not _alike(*operator_table()[name].shapes[-2:])
    assert never or any(len({leaf.name for leaf in pair}) == 1 for pair in every)


@pytest.mark.parametrize("name", [name for name, row in operator_table().items() if row.stress_values])
def test_stress_values_are_tried_where_an_operator_is_alone_and_nowhere_else(name: str) -> None:
    row = operator_table()[name]
    leaves = (leaf.value.to_numpy() for seed in range(150) for leaf in operator_scenario(seed, name).leaves)
    wanted = {number for numbers in row.stress_values.values() for number in numbers}
    assert missed(wanted, (array.ravel().tolist() for array in leaves if array.dtype != np.bool_)) == set()
    graphs = [random_scenario(seed, Profile(operators=frozenset({name}))) for seed in seeds(30)]
    assert [text for scenario in graphs for text in complaints(scenario, Profile()) if "range" in text] == []


def test_transposition_meets_both_cycles_of_three_axes() -> None:
    attributes = [dict(operator_scenario(seed, "transpose").applications[0].attributes) for seed in range(200)]
    axes = [a for given in attributes if isinstance(a := given.get("axes"), tuple) and len(a) == 3]
    assert {(1, 2, 0), (2, 0, 1)} <= {tuple(int(str(axis)) % 3 for axis in permutation) for permutation in axes}


def test_outputs_are_seeded_with_signed_values() -> None:
    seeds = [step.seed for seed in SEEDS for _, step in operator_scenario(seed, "exp").backwards]
    entries = np.concatenate([seed.to_numpy().ravel() for seed in seeds if seed is not None])
    assert entries.min() < -1
    assert entries.max() > 1


def test_the_value_is_read_too() -> None:
    scenario = operator_scenario(1, "tanh")
    assert [step.to_text().split()[1] for step in scenario.steps[-2:]] == ["grad", "value"]
    assert evaluate(scenario, Float64())


def test_scalars_are_enough_where_nothing_can_be_reduced() -> None:
    profile = Profile(operators=frozenset({"add"}), seeds=False)
    assert operator_scenario(0, "tanh", profile).leaves[0].value.shape == ()


def test_an_operator_without_edges_has_no_edge_scenario() -> None:
    with pytest.raises(GenerationError, match="declares no edge"):
        edge_scenario(0, "tanh")


def test_a_profile_that_admits_no_scenario_is_an_error() -> None:
    with pytest.raises(GenerationError, match="'expand_dims'"):
        operator_scenario(0, "expand_dims", Profile(scalars_only=True, seeds=False))


def _operands(scenario: Scenario) -> list[Leaf]:
    definitions = scenario.definitions
    return [leaf for name in scenario.applications[0].arguments if isinstance(leaf := definitions[name], Leaf)]
