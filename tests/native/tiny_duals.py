"""Dual numbers in a few lines, for the tests of engines that carry tangents forward."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Dual:
    """A number with its slope."""

    value: float
    slope: float

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)


def exp(x: Dual) -> Dual:
    """Return the exponential."""
    value = math.exp(x.value)
    return Dual(value, value * x.slope)
