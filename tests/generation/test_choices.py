"""Tests of choices that follow from a seed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import Choices


@given(st.integers())
def test_choices_stay_within_bounds(seed: int) -> None:
    choices = Choices(seed)
    assert choices.integer(3, 3) == 3
    assert -2 <= choices.integer(-2, 5) <= 5
    assert choices.choice("abc") in "abc"
    assert choices.boolean(0) is False
    assert choices.boolean(1) is True
    assert isinstance(choices.boolean(0.3), bool)
    numbers = choices.decimals(-0.8, 20, 7)
    assert len(numbers) == 7
    assert all(-0.8 <= number <= 20 and number == round(number, 3) for number in numbers)
    assert choices.happens("fresh_leaf") in {True, False}


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_a_seeded_boolean_has_its_probability(probability: float) -> None:
    choices = Choices(0)
    assert sum(choices.boolean(probability) for _ in range(4000)) / 4000 == pytest.approx(probability, abs=0.03)


def test_seeded_choices_follow_from_the_seed_on_every_machine() -> None:
    choices = Choices(2026)
    seen = [choices.integer(0, 99), choices.choice("abcdef"), choices.decimals(-3, 3, 2), choices.boolean(0.5)]
    again = Choices(2026)
    assert seen == [again.integer(0, 99), again.choice("abcdef"), again.decimals(-3, 3, 2), again.boolean(0.5)]
