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

RESOLUTION: Final = 1024
"""Probabilities are drawn in steps of one part in this many."""


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
        return int(self._draw(_integers(RESOLUTION - 1))) >= round(RESOLUTION * (1 - probability))

    def decimals(self, low: float, high: float, count: int) -> list[float]:
        """Return numbers with at most three decimals; each shrinks to the simplest that there is."""
        first, last = grid(low, high)
        bounds = _floats(first / STEPS_PER_UNIT, last / STEPS_PER_UNIT)
        return [round(self._draw(bounds) * STEPS_PER_UNIT) / STEPS_PER_UNIT for _ in range(count)]

    def repeat(self, least: int, most: int) -> Iterator[int]:
        """Count on for as long as hypothesis says so: rounds can then be deleted one by one."""
        going_on = 1 - 1 / (1 + (least + most) / 2)
        for number in range(most):
            if number >= least and not self.boolean(going_on):
                return
            yield number


@cache
def grid(low: float, high: float) -> tuple[int, int]:
    """Return the first and the last whole number of thousandths between low and high, inwards."""
    return math.ceil(low * STEPS_PER_UNIT - 1e-9), math.floor(high * STEPS_PER_UNIT + 1e-9)


@cache
def _integers(high: int) -> st.SearchStrategy[int]:
    return st.integers(0, high)


@cache
def _floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high)
