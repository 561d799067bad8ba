"""Do both sources of choices keep to what they are asked for?"""

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from refgrad.generation import Choices, SeededChoices
from refgrad.strategies import DrawnChoices


def check_choices(choices: Choices) -> None:
    assert choices.integer(3, 3) == 3
    assert -2 <= choices.integer(-2, 5) <= 5
    assert choices.choice("abc") in "abc"
    assert choices.boolean(0) is False
    assert choices.boolean(1) is True
    assert isinstance(choices.boolean(0.3), bool)
    numbers = choices.decimals(-0.8, 20, 7)
    assert len(numbers) == 7
    assert all(-0.8 <= number <= 20 and number == round(number, 3) for number in numbers)
    assert list(choices.repeat(2, 2)) == [0, 1]
    assert 1 <= len(list(choices.repeat(1, 4))) <= 4


@given(st.integers())
def test_seeded_choices_stay_within_bounds(seed: int) -> None:
    check_choices(SeededChoices(seed))


@given(st.data())
def test_drawn_choices_stay_within_bounds(data: st.DataObject) -> None:
    check_choices(DrawnChoices(data.draw))


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_a_seeded_boolean_has_its_probability(probability: float) -> None:
    choices = SeededChoices(0)
    assert sum(choices.boolean(probability) for _ in range(4000)) / 4000 == pytest.approx(probability, abs=0.03)


def test_seeded_choices_follow_from_the_seed_on_every_machine() -> None:
    choices = SeededChoices(2026)
    seen = [choices.integer(0, 99), choices.choice("abcdef"), choices.decimals(-3, 3, 2), choices.boolean(0.5)]
    again = SeededChoices(2026)
    assert seen == [again.integer(0, 99), again.choice("abcdef"), again.decimals(-3, 3, 2), again.boolean(0.5)]


def test_drawn_choices_shrink_to_the_simplest() -> None:
    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[int, str, list[float], int]:
        choices = DrawnChoices(draw)
        return (
            choices.integer(2, 9),
            choices.choice("abc"),
            choices.decimals(0.2, 5, 2),
            len(list(choices.repeat(1, 9))),
        )

    quiet = settings(database=None, derandomize=True)
    assert find(drawn(), lambda _: True, settings=quiet) == (2, "a", [1.0, 2.0], 1)
    assert find(drawn(), lambda all_: all_[3] > 3, settings=quiet)[3] == 4
