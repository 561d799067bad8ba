"""Sources of random choices for generators, and one that is seeded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

STEPS_PER_UNIT: Final = 1000
"""Number of grid steps per unit: numbers are drawn with three decimals, so that programs stay readable."""


class Choices(Protocol):
    """A source of choices."""

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options, of which there must be at least one."""

    def boolean(self, probability: float) -> bool:
        """Return True with this probability."""

    def decimals(self, low: float, high: float, count: int) -> list[float]:
        """Return ``count`` short decimal numbers from low to high, both included."""

    def repeat(self, least: int, most: int) -> Iterator[int]:
        """Yield the numbers from 0 on, at least ``least`` and at most ``most`` of them."""


class SeededChoices:
    """Choices drawn from a seeded generator."""

    def __init__(self, seed: int) -> None:
        """Seed the generator. The same seed gives the same choices on every machine."""
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
        """Yield the numbers below a limit that is drawn once."""
        return iter(range(self.integer(least, most)))


@cache
def grid(low: float, high: float) -> tuple[int, int]:
    """Return the smallest and the largest whole number of thousandths that lie between low and high."""
    return math.ceil(low * STEPS_PER_UNIT - 1e-9), math.floor(high * STEPS_PER_UNIT + 1e-9)
