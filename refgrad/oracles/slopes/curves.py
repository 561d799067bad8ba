"""Functions of one variable, their estimated slopes at 0, and the noise of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]

ROUNDING_SAFETY = 16.0
"""Number of standard deviations of the noise by which a value may be off."""

Along = Callable[[float], Floats]
"""Function from the distance along a direction to the flattened outputs, which are not finite outside the domain."""

NOISE_LINE = np.arange(11.0) - 5
"""Positions on a line, in steps, at which values are sampled to estimate their noise."""

NOISE_ORDERS = (4, 6)
"""Orders of differences that cancel the smooth part. If they disagree, the smaller one is nearer to the noise."""

TYPICAL_SIZES = MappingProxyType({1: (0.29, 0.41), 2: (0.49, 0.67)})
"""Second (1) and third (2) smallest magnitudes of seven and of five normal variables, in standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Values at some distances (first axis) on some curves (last axis)."""

    values: Floats
    distances: Floats


class Line:
    """The outputs of a function along a direction, as functions of the distance."""

    def __init__(self, along: Along, here: Floats, deviation: Floats, unit: float) -> None:
        """Take the outputs at distance 0, the standard deviations of their errors, and the unit roundoff."""
        self.along, self.here, self.deviation, self.unit = along, here, deviation, unit

    def sample(self, indices: Positions, distances: Floats) -> Samples:
        """Return some outputs at distances that are equal for all of them."""
        values = [self.along(float(row[0])) if row[0] else self.here for row in distances]
        return Samples(np.stack(values)[:, indices], distances)

    def noise(self, indices: Positions, samples: Samples) -> Floats:
        """Return the larger of the noise at distance 0 and a unit roundoff of each value."""
        return np.maximum(self.deviation[indices], self.unit * np.abs(samples.values))


@dataclass(frozen=True, slots=True, eq=False)
class BoundedSlopes:
    """A slope for each curve and a bound of its error, infinite where there is none.

    ``rounding`` is the part of the bound that comes from noise. ``kink`` is True where the bound is large because the
    slopes on both sides differ.
    """

    value: Floats
    error: Floats
    rounding: Floats
    kink: Booleans

    @classmethod
    def unknown(cls, count: int) -> BoundedSlopes:
        """Return unknown slopes, with infinite error bounds."""
        return cls(np.zeros(count), np.full(count, np.inf), np.zeros(count), np.zeros(count, dtype=bool))

    def improved(self, indices: Positions, other: BoundedSlopes) -> BoundedSlopes:
        """Return the slopes with those of another attempt, with smaller steps, where its error is smaller.

        A slope that changes with the steps by more than its error plus rounding contradicts that error, which is then
        raised.
        """
        if len(indices) == len(self.error) and np.isinf(self.error).all():
            return other
        error = self.error.copy()
        both = np.isfinite(error[indices]) & np.isfinite(other.error)
        apart = np.where(both, np.abs(other.value - self.value[indices]), 0.0)
        moves = apart > error[indices] + other.rounding
        error[indices] = np.where(moves, apart + other.error, error[indices])
        better = other.error < error[indices]
        chosen = indices[better]
        error[chosen] = other.error[better]
        value, rounding, kink = self.value.copy(), self.rounding.copy(), self.kink.copy()
        value[chosen], rounding[chosen], kink[chosen] = other.value[better], other.rounding[better], other.kink[better]
        return BoundedSlopes(value, error, rounding, kink)


def table_noise_at_kinks(values: Floats, rank: int) -> Floats:
    """Return the noise where choices change in the middle of the lines, from the difference of that rank by size.

    ``values`` were sampled along ``NOISE_LINE``, the first axis. A kink or a jump disturbs four of the seven
    differences of order four; two next to each other disturb five.
    """
    tables = zip(difference_tables(values), TYPICAL_SIZES[rank], strict=True)
    typical = [np.sort(np.abs(table), axis=0)[rank] / size for table, size in tables]
    return np.asarray(np.min(typical, axis=0))


def difference_tables(values: Floats) -> list[Floats]:
    """Return differences that cancel the smooth part of the values, divided so that they are as large as the noise.

    Differences of order k of noise of variance 1 have a variance of (2k)! / k!² (Moré and Wild, Estimating
    computational noise, SIAM J. Sci. Comput. 2011).
    """
    return [np.diff(values, order, axis=0) / np.sqrt(comb(2 * order, order)) for order in NOISE_ORDERS]


def finite(array: Floats) -> Floats:
    """Return the array with zeros in place of numbers that are not finite."""
    return np.where(np.isfinite(array), array, 0.0)
