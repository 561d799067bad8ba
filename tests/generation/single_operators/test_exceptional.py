"""Every operator meets the exceptional numbers, in places that matter and in others, among ordinary numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import everywhere, exceptional_positions, numbers_at
from refgrad.generation.profile import COUNTS
from refgrad.generation.single_operators.exceptional import LARGEST, SUBNORMAL
from refgrad.operators import operator_table
from refgrad.scenario import Leaf
from refgrad.scenario.formats import FLOAT64

DIFFERENTIABLE = [name for name, row in operator_table().items() if row.differentiable_arguments]


@given(st.sampled_from(DIFFERENTIABLE))
def test_every_operator_has_places_among_ordinary_numbers(name: str) -> None:
    positions = exceptional_positions(name)
    assert positions
    for position in positions:
        assert position.base.operators == {name}
        assert position.others.size < sum(leaf.value.size for leaf in position.base.leaves) * 2
        assert np.all(position.others)
        assert np.all(np.isfinite(position.others))
        assert max(leaf.value.size for leaf in position.base.leaves) <= COUNTS["largest_plain_case"]


@given(st.sampled_from(DIFFERENTIABLE), st.sampled_from([math.nan, math.inf, SUBNORMAL, -0.0]))
def test_a_scenario_differs_from_its_base_in_one_entry_alone(name: str, number: float) -> None:
    for position in exceptional_positions(name):
        held = position.holding(number)
        for before, after in zip(position.base.steps, held.steps, strict=True):
            if not (isinstance(before, Leaf) and isinstance(after, Leaf) and before.name == position.leaf):
                assert before == after
                continue
            old, new = before.value.to_numpy().ravel(), after.value.to_numpy().ravel()
            assert np.array_equal(np.delete(old, position.entry), np.delete(new, position.entry))
            assert np.array_equal(new[position.entry], np.float64(number), equal_nan=True)
            assert np.signbit(new[position.entry]) == np.signbit(number)
            assert old[position.entry] == position.number


@pytest.mark.parametrize("name", ["where", "tril", "take", "max"])
def test_masked_entries_are_tried_with_numbers_that_are_not_finite(name: str) -> None:
    others = [position for position in exceptional_positions(name) if not position.matters]
    assert others
    assert not any(math.isfinite(number) for position in others for number in numbers_at(position))


def test_places_that_matter_meet_every_kind_of_number() -> None:
    position = next(position for position in exceptional_positions("multiply") if position.matters)
    numbers = numbers_at(position)
    assert [math.isnan(number) for number in numbers].count(True) == 1
    assert {math.inf, -math.inf, SUBNORMAL, LARGEST, 0.0} <= set(numbers)
    assert 0 < SUBNORMAL < FLOAT64.smallest_normal
    assert math.isinf(2 * LARGEST)


def test_every_operand_is_tried() -> None:
    assert {position.leaf for position in exceptional_positions("addcmul")} == {"x1", "x2", "x3"}


def test_fewer_choices_of_attributes_are_the_first_ones() -> None:
    one, two = exceptional_positions("sum", bases=1), exceptional_positions("sum", bases=2)
    assert one == two[: len(one)]
    assert all(position.first for position in one)
    assert not all(position.first for position in two)
    assert exceptional_positions("exp", bases=1) == exceptional_positions("exp", bases=2)


def test_several_numbers_are_the_entries_of_one_operand() -> None:
    position = exceptional_positions("multiply")[0]
    held = everywhere(position, (1e3, -1e8, 2.0)).holding(0.0)
    first, second = (leaf.value.to_numpy().tolist() for leaf in held.leaves)
    assert first == [1e3, -1e8, 2.0]
    assert second == [second[0]] * 3
    assert [start.seed.to_numpy().tolist() for _, start in held.backwards if start.seed] == [[1.0, 1.0, 1.0]]
