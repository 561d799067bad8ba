"""Choices of a generator that hypothesis draws, so that it can shrink them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from refgrad.generation import Choices

T = TypeVar("T")

DRAWN_STEPS_PER_UNIT: Final = 100
"""Hypothesis draws them with two decimals, in a list of them that begins with the simplest."""

RESOLUTION: Final = 16
"""Hypothesis draws probabilities in steps of one part in this many: the fewer, the faster it shrinks them."""

ANY_NUMBERS: Final = 0.85
"""How often numbers are drawn at all by hypothesis, and are not the simplest ones that differ from one another."""


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
def _integers(high: int) -> st.SearchStrategy[int]:
    return st.integers(0, high)


@cache
def _shortest_first(low: float, high: float) -> tuple[float, ...]:
    """Return the hundredths from low to high: those first that are short to write, and among them positive ones."""
    first, last = math.ceil(low * DRAWN_STEPS_PER_UNIT - 1e-9), math.floor(high * DRAWN_STEPS_PER_UNIT + 1e-9)
    numbers = [place / DRAWN_STEPS_PER_UNIT for place in range(first, last + 1)] or [low]
    return tuple(sorted(numbers, key=lambda number: (not number, len(f"{number:g}"), number < 0, abs(number))))
