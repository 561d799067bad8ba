"""Who decides where a generator has a choice: a seed, or hypothesis?

One generator serves both: volume comes from a seed (some 0.3 µs a choice), and shrinking by hypothesis needs every
choice to be drawn (some 15 µs a choice). The simplest alternative is the lowest integer, the first of a sequence, or
False.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, Final, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

STEPS_PER_UNIT: Final = 1000
"""Numbers are drawn with three decimals, so that programs that show them stay readable."""

DRAWN_STEPS_PER_UNIT: Final = 100
"""Hypothesis draws them with two decimals, in a list of them that begins with the simplest."""

RESOLUTION: Final = 16
"""Hypothesis draws probabilities in steps of one part in this many: the fewer, the faster it shrinks them."""

ANY_NUMBERS: Final = 0.85
"""How often numbers are drawn at all by hypothesis, and are not the simplest ones that differ from one another."""


class Choices(Protocol):
    """A source of choices."""

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options, of which there must be at least one."""

    def boolean(self, probability: float) -> bool:
        """Return True with this probability."""

    def decimals(self, low: float, high: float, count: int) -> list[float]:
        """Return that many short decimal numbers from low to high, both included."""

    def repeat(self, least: int, most: int) -> Iterator[int]:
        """Count from 0 to somewhere between least and most."""

    def together(self, action: Callable[[Choices], T]) -> T:
        """Return what the action does with these choices: those that it makes belong together."""


class SeededChoices:
    """Choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        """Begin a sequence of choices; the same seed makes the same choices on every machine."""
        self._random: Callable[[], float] = Random(seed).random

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self._random() * len(options))]

    def boolean(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random() < probability

    def decimals(self, low: float, high: float, count: int) -> list[float]:
        """Return numbers with three decimals, all equally likely."""
        first, last = grid(low, high)
        span, draw = last - first + 1, self._random
        return [(first + int(draw() * span)) / STEPS_PER_UNIT for _ in range(count)]

    def repeat(self, least: int, most: int) -> Iterator[int]:
        """Count up to a number that is drawn once."""
        return iter(range(self.integer(least, most)))

    def together(self, action: Callable[[Choices], T]) -> T:
        """Return what the action does."""
        return action(self)


class DrawnChoices:
    """Choices that hypothesis draws, one by one."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        """Take the ``draw`` of ``hypothesis.strategies.composite`` or of ``hypothesis.strategies.data``."""
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included; shrinks to low."""
        return low if low == high else low + int(self._draw(_integers(high - low)))

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options; shrinks to the first."""
        return options[self.integer(0, len(options) - 1)]

    def boolean(self, probability: float) -> bool:
        """Return True with about this probability; shrinks to False unless that has none."""
        if probability <= 0 or probability >= 1:
            return probability >= 1
        parts = min(max(round(RESOLUTION * probability), 1), RESOLUTION - 1)
        return int(self._draw(_integers(RESOLUTION - 1))) >= RESOLUTION - parts

    def decimals(self, low: float, high: float, count: int) -> list[float]:
        """Return numbers with at most two decimals; they shrink to 1, 2, 3, or what else is short and not 0."""
        numbers = _shortest_first(low, high)
        if not self.boolean(ANY_NUMBERS):
            return [numbers[place % len(numbers)] for place in range(count)]
        return [numbers[self.integer(0, len(numbers) - 1)] for _ in range(count)]

    def repeat(self, least: int, most: int) -> Iterator[int]:
        """Count on for as long as hypothesis says so: rounds can then be deleted one by one."""
        going_on = 1 - 1 / (1 + (least + most) / 2)
        for number in range(most):
            if number >= least and not self.boolean(going_on):
                return
            yield number

    def together(self, action: Callable[[Choices], T]) -> T:
        """Return what the action does; hypothesis leaves out all of its choices at once."""
        return self._draw(_together(action))  # type: ignore[no-any-return]


@st.composite
def _together(draw: st.DrawFn, action: Callable[[Choices], T]) -> T:
    return action(DrawnChoices(draw))


@cache
def grid(low: float, high: float) -> tuple[int, int]:
    """Return the first and the last whole number of thousandths between low and high, inwards."""
    return math.ceil(low * STEPS_PER_UNIT - 1e-9), math.floor(high * STEPS_PER_UNIT + 1e-9)


@cache
def _integers(high: int) -> st.SearchStrategy[int]:
    return st.integers(0, high)


@cache
def _shortest_first(low: float, high: float) -> tuple[float, ...]:
    """Return the hundredths from low to high: those first that are short to write, and among them positive ones."""
    first, last = math.ceil(low * DRAWN_STEPS_PER_UNIT - 1e-9), math.floor(high * DRAWN_STEPS_PER_UNIT + 1e-9)
    numbers = [place / DRAWN_STEPS_PER_UNIT for place in range(first, last + 1)] or [low]
    return tuple(sorted(numbers, key=lambda number: (not number, len(f"{number:g}"), number < 0, abs(number))))
