"""Tests of choices that follow from a seed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import SeededChoices
from tests.generation.checked_choices import check_choices


@given(st.integers())
def test_seeded_choices_stay_within_bounds(seed: int) -> None:
    check_choices(SeededChoices(seed))


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_a_seeded_boolean_has_its_probability(probability: float) -> None:
    choices = SeededChoices(0)
    assert sum(choices.boolean(probability) for _ in range(4000)) / 4000 == pytest.approx(probability, abs=0.03)


def test_seeded_choices_follow_from_the_seed_on_every_machine() -> None:
    choices = SeededChoices(2026)
    seen = [choices.integer(0, 99), choices.choice("abcdef"), choices.decimals(-3, 3, 2), choices.boolean(0.5)]
    again = SeededChoices(2026)
    assert seen == [again.integer(0, 99), again.choice("abcdef"), again.decimals(-3, 3, 2), again.boolean(0.5)]
