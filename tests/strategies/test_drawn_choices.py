"""Tests of choices that hypothesis draws."""

from hypothesis import find, given, settings
from hypothesis import strategies as st

from refgrad.strategies.drawn_choices import DrawnChoices
from tests.generation.checked_choices import check_choices


@given(st.data())
def test_drawn_choices_stay_within_bounds(data: st.DataObject) -> None:
    check_choices(DrawnChoices(data.draw))


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
