"""How a program compares a number with the right one: as loosely as the error lets it."""

from __future__ import annotations

import math
import sys
from typing import Final

from refgrad.grading.judging.evidence import Entry

TOLERANCES: Final = (1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15)
"""Relative tolerances, of which the first is taken that the error exceeds by far."""

BEYOND: Final = 3.0
"""How many times larger than the tolerance the error has to be."""


def comparison(fact: Entry) -> tuple[str, str]:
    """Return the condition that ``got`` has to meet, and what is right, in words."""
    low, high, seen = float(fact.lower), float(fact.upper), float(fact.observed)
    if math.isnan(low) or math.isnan(high):
        return "math.isnan(got)", "nan"
    if not math.isfinite(low) or not math.isfinite(high):
        wanted = f'float("{low}")'
        return (
            (f"got == {wanted}", str(low))
            if low == high
            else (f"{_code(low)} <= got <= {_code(high)}", _range(low, high))
        )
    error = abs(max(low - seen, seen - high))
    if high - low > (1e-6 * error if math.isfinite(error) else 1e-12 * max(abs(low), abs(high))):
        return f"{low} <= got <= {high}", _range(low, high)
    right = low + 0.0
    if abs(right) < sys.float_info.min:
        near = _below(error) if math.isfinite(error) and error else 1e-12
        return f"abs(got) < {near}", repr(right)
    return f"math.isclose(got, {right}, rel_tol={_relative(_apart(right, seen), fact)})", repr(right)


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
    """Return how far two numbers are apart, relative to the larger one, as ``math.isclose`` does."""
    largest = max(abs(right), abs(seen))
    return abs(right / largest - seen / largest)


def _below(error: float) -> float:
    """Return a power of ten, a thousandth of the error or less."""
    return float(f"1e{math.floor(math.log10(error)) - 3}")


def _range(low: float, high: float) -> str:
    return f"between {low} and {high}"


def _code(number: float) -> str:
    return repr(number) if math.isfinite(number) else f'float("{number}")'
