"""Conditions that the right number meets and the engine's does not: as loose as the error lets them be."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Final, Literal

from refgrad.grading.judging.evidence import Entry, Uncoupled
from refgrad.native.languages import Language

TOLERANCES: Final = (1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15)
"""Relative tolerances. The first that is much smaller than the error is chosen."""

BEYOND: Final = 3.0
"""Least ratio of the error to the tolerance."""

SLACK: Final = 1e-6
"""Distance between a directional derivative and the right one that an assertion accepts."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a number ``got``, and the right number or range in words."""

    kind: Literal["nan", "same", "between", "inside", "small", "close", "near"]
    right: str
    low: float = 0.0
    high: float = 0.0

    def text(self, language: Language) -> str:
        """Return the condition in a language."""
        return language.conditions[self.kind].format(low=language.literal(self.low), high=language.literal(self.high))


def condition(fact: Entry) -> Condition:
    """Return the condition that an entry has to meet."""
    low, high, seen = float(fact.lower), float(fact.upper), float(fact.observed)
    if math.isnan(low) or math.isnan(high):
        return Condition("nan", "nan")
    if not math.isfinite(low) or not math.isfinite(high):
        return Condition("same" if low == high else "between", _range(low, high), low, high)
    error = abs(max(low - seen, seen - high))
    if high - low > (1e-6 * error if math.isfinite(error) else 1e-12 * max(abs(low), abs(high))):
        return Condition("between", _range(low, high), low, high)
    right = low + 0.0
    if abs(right) < sys.float_info.min:
        return Condition("small", repr(right), high=_below(error) if math.isfinite(error) and error else 1e-12)
    return Condition("close", repr(right), right, _relative(_apart(right, seen), fact))


def movement(fact: Uncoupled) -> Condition:
    """Return the condition that a directional derivative has to meet."""
    low, high = float(fact.lower), float(fact.upper)
    if low == high:
        return Condition("near", _range(low, high), low, SLACK)
    return Condition("inside", _range(low, high), low - SLACK, high + SLACK)


def _relative(error: float, fact: Entry) -> float:
    """Return a tolerance that is smaller than the error and larger than what rounding explains."""
    if not math.isfinite(error):
        return TOLERANCES[1]
    budgets = float(fact.budgets)
    explained = error / budgets if math.isfinite(budgets) and budgets > 0 else 0.0
    for tolerance in TOLERANCES:
        if explained < tolerance and tolerance * BEYOND < error:
            return tolerance
    return float(f"{math.sqrt(error * (explained or error / 100)):.0e}")


def _apart(right: float, seen: float) -> float:
    """Return the difference of two numbers relative to the larger one, as ``math.isclose`` does."""
    largest = max(abs(right), abs(seen))
    return abs(right / largest - seen / largest)


def _below(error: float) -> float:
    """Return a power of ten that is at most a thousandth of the error."""
    return float(f"1e{math.floor(math.log10(error)) - 3}")


def _range(low: float, high: float) -> str:
    return f"{low}" if low == high else f"between {low} and {high}"
