"""What any source of choices keeps to."""

from refgrad.generation import Choices


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
