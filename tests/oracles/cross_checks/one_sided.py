"""Slopes at 0 from values on one side, of functions whose choices at each point are known.

Where a choice is undecided at the point itself, at a tie or a kink, both sides are sampled, and there is a derivative
only if they agree: the slope on one side of a kink is never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.oracles.slopes.curves import Booleans, BoundedSlopes, Floats, Positions, Samples
from refgrad.oracles.slopes.one_sided import LEFT, RIGHT, SHIFTS, side_slopes

Pattern = npt.NDArray[Any]

ROUGHLY = 2.0**-8
"""Largest relative difference of the nearest slopes of two sides that agree to any useful number of digits."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenSamples(Samples):
    """Values, and codes of the choices that were made there, with the same two axes last; 0 is an undecided choice."""

    branches: tuple[Pattern, ...] = ()

    def only(self, kept: Positions) -> ChosenSamples:
        """Return the samples of some curves."""
        return ChosenSamples(
            self.values[:, kept], self.distances[:, kept], tuple(taken[..., kept] for taken in self.branches)
        )


class ChoosingCurves(Protocol):
    """Real functions of a distance whose choices are known."""

    batch: int
    """Number of functions that are sampled at once."""

    def choices(self, indices: Positions, distances: Floats) -> ChosenSamples:
        """Return samples of some curves, each at its own distances."""

    def noise(self, indices: Positions, samples: Samples) -> Floats:
        """Return the standard deviation of the rounding errors of each sample."""


def slopes_on_sides(curves: ChoosingCurves, tries: Iterable[Floats], known: BoundedSlopes) -> BoundedSlopes:
    """Estimate unknown slopes from each side, and again while the error exceeds twice its rounding part."""
    unknown, slopes = np.isinf(known.error), known
    for steps in tries:
        unsettled = np.flatnonzero(unknown & np.isfinite(steps) & (slopes.error > 2 * slopes.rounding))
        for start in range(0, unsettled.size, curves.batch):
            indices = unsettled[start : start + curves.batch]
            slopes = slopes.improved(indices, on_sides(curves, indices, steps[indices]))
    return slopes


def on_sides(curves: ChoosingCurves, indices: Positions, steps: Floats) -> BoundedSlopes:
    """Return the slopes of some curves. The error is infinite where two sides disagree or no slope is known."""
    samples = curves.choices(indices, np.multiply.outer(SHIFTS, steps))
    with np.errstate(all="ignore"):
        kept = np.flatnonzero(_promising(samples))
        slopes = BoundedSlopes.unknown(len(indices))
        if not kept.size:
            return slopes
        samples = samples.only(kept)
        return slopes.improved(kept, _chosen(samples, curves.noise(indices[kept], samples)))


def crossing(samples: ChosenSamples) -> Booleans:
    """Return True where the points of a stencil do not all take the same branches."""
    result = np.zeros(samples.values.shape[1], dtype=bool)
    for taken in samples.branches:
        result |= np.any(taken != taken[:, :1], axis=(0, 1))
    return result


def _promising(samples: ChosenSamples) -> Booleans:
    """Return True where the noise is worth computing: sides that differ much are a kink, whatever their rounding is."""
    right, left = (
        (samples.values[side] - samples.values[0])[-1] / samples.distances[side][-1] for side in (RIGHT, LEFT)
    )
    near = np.abs(right - left) <= ROUGHLY * np.maximum(1.0, np.abs(right))
    return np.asarray(np.any(_one_side(samples), axis=0) | (_between(samples) & near))


def _one_side(samples: ChosenSamples) -> list[Booleans]:
    """Return masks of the curves that exist on the right side only, and on the left side only.

    The points of that side must take the branches of the middle.
    """
    return [
        _same(samples, side, lambda middle, near: middle == near) & ~np.isfinite(samples.values[other]).any(axis=0)
        for side, other in ((RIGHT, LEFT), (LEFT, RIGHT))
    ]


def _between(samples: ChosenSamples) -> Booleans:
    """Return True where choices are undecided in the middle, and each side otherwise takes the same branches."""
    result = np.zeros(samples.values.shape[1], dtype=bool)
    for taken in samples.branches:
        result |= np.any(taken[:, 0] == 0, axis=0)
    for side in (RIGHT, LEFT):
        result &= _same(samples, side, lambda middle, near: (middle == near) | (middle == 0))
    return result


def _same(samples: ChosenSamples, side: slice, fits: Callable[[Pattern, Pattern], Booleans]) -> Booleans:
    result = np.ones(samples.values.shape[1], dtype=bool)
    for taken in samples.branches:
        nearest = taken[:, side.start : side.start + 1]
        result &= np.all((taken[:, side] == nearest) & fits(taken[:, :1], nearest), axis=(0, 1))
    return result


def _chosen(samples: ChosenSamples, noise: Floats) -> BoundedSlopes:
    """Return the slope of the only side that exists, or the mean of two sides that agree."""
    (right, right_error, right_noise), (left, left_error, left_noise) = (
        side_slopes(side, samples, noise) for side in (RIGHT, LEFT)
    )
    apart = np.abs(right - left)
    agree = _between(samples) & (apart <= right_error + left_error)
    both = np.where(agree, np.maximum(right_error, left_error) + apart / 2, np.inf)
    cases = _one_side(samples)
    error = np.select(cases, [right_error, left_error], both)
    value = np.select(cases, [right, left], (right + left) / 2)
    known = error <= np.abs(value) + 1.0
    value = np.where(known, value, 0.0)
    rounding = np.select(cases, [right_noise, left_noise], np.maximum(right_noise, left_noise))
    return BoundedSlopes(value, np.where(known, error, np.inf), rounding, np.zeros(known.shape, dtype=bool))
