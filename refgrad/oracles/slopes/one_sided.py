"""Slopes at 0 from values on one side, where a stencil must not reach across.

A leaf on the border of a domain (``x ** 1.5`` at 0) has points on one side only. There the one-sided derivative is the
limit that is expected. Where a choice is undecided at the point itself, at a tie or a kink, both sides are sampled, and
there is a derivative only if they agree: the slope on one side of a kink is never returned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refgrad.oracles.slopes.curves import (
    ROUNDING_SAFETY,
    Booleans,
    BoundedSlopes,
    Curves,
    Floats,
    Pattern,
    Positions,
    Samples,
)

HALVINGS = 5
SHIFTS = np.concatenate([[0.0], 0.5 ** np.arange(HALVINGS), -(0.5 ** np.arange(HALVINGS))])
RIGHT, LEFT = slice(1, HALVINGS + 1), slice(HALVINGS + 1, None)

SLOWEST = 0.93
"""Largest ratio of successive changes of slopes at which the slopes are extrapolated.

Each halving of the distance must shrink the change at least so much. That of x ** 1.1 at 0 does not.
"""

ROUGHLY = 2.0**-8
"""Largest relative difference of the nearest slopes of two sides that agree to any useful number of digits."""

TRUNCATION_SAFETY = 8.0


def one_sided(curves: Curves, indices: Positions, steps: Floats) -> BoundedSlopes:
    """Return the slopes of some curves. The error is infinite where two sides disagree or no slope can be found."""
    samples = curves.sample(indices, np.multiply.outer(SHIFTS, steps))
    with np.errstate(all="ignore"):
        kept = np.flatnonzero(_promising(samples))
        found = BoundedSlopes.unknown(len(indices))
        if not kept.size:
            return found
        samples = _only(samples, kept)
        return found.improved(kept, _chosen(samples, curves.noise(indices[kept], samples)))


def _only(samples: Samples, kept: Positions) -> Samples:
    branches = tuple(taken[..., kept] for taken in samples.branches)
    return Samples(samples.values[:, kept], samples.distances[:, kept], branches)


def _promising(samples: Samples) -> Booleans:
    """Return True where the noise is worth computing: sides that differ much are a kink, whatever their rounding is."""
    right, left = (
        (samples.values[side] - samples.values[0])[-1] / samples.distances[side][-1] for side in (RIGHT, LEFT)
    )
    near = np.abs(right - left) <= ROUGHLY * np.maximum(1.0, np.abs(right))
    return np.asarray(np.any(_alone(samples), axis=0) | (_between(samples) & near))


def _alone(samples: Samples) -> list[Booleans]:
    """Return masks of the curves that exist on the right side only, and on the left side only.

    The points of that side must take the branches of the middle.
    """
    return [
        _same(samples, side, lambda middle, near: middle == near) & ~np.isfinite(samples.values[other]).any(axis=0)
        for side, other in ((RIGHT, LEFT), (LEFT, RIGHT))
    ]


def _between(samples: Samples) -> Booleans:
    """Return True where choices are undecided in the middle, and each side otherwise takes the same branches."""
    result = np.zeros(samples.values.shape[1], dtype=bool)
    for taken in samples.branches:
        result |= np.any(taken[:, 0] == 0, axis=0)
    for side in (RIGHT, LEFT):
        result &= _same(samples, side, lambda middle, near: (middle == near) | (middle == 0))
    return result


def _same(samples: Samples, side: slice, fits: Callable[[Pattern, Pattern], Booleans]) -> Booleans:
    result = np.ones(samples.values.shape[1], dtype=bool)
    for taken in samples.branches:
        nearest = taken[:, side.start : side.start + 1]
        result &= np.all((taken[:, side] == nearest) & fits(taken[:, :1], nearest), axis=(0, 1))
    return result


def _chosen(samples: Samples, noise: Floats) -> BoundedSlopes:
    """Return the slope of the only side that exists, or the mean of two sides that agree."""
    (right, right_error, right_noise), (left, left_error, left_noise) = (
        _side(side, samples, noise) for side in (RIGHT, LEFT)
    )
    apart = np.abs(right - left)
    agree = _between(samples) & (apart <= right_error + left_error)
    both = np.where(agree, np.maximum(right_error, left_error) + apart / 2, np.inf)
    alone = _alone(samples)
    error = np.select(alone, [right_error, left_error], both)
    value = np.select(alone, [right, left], (right + left) / 2)
    known = error <= np.abs(value) + 1.0
    value = np.where(known, value, 0.0)
    rounding = np.select(alone, [right_noise, left_noise], np.maximum(right_noise, left_noise))
    return BoundedSlopes(value, np.where(known, error, np.inf), rounding, np.zeros(known.shape, dtype=bool))


def _side(side: slice, samples: Samples, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """Extrapolate the slopes of one side to a distance of zero (Richardson).

    Returns the slope, its error, and the part of the error that is due to rounding.
    """
    distances = samples.distances[side]
    slopes = (samples.values[side] - samples.values[0]) / distances
    levels = _levels(slopes)
    value = levels[-1][-1]
    change = np.maximum(np.abs(value - levels[-2][-1]), np.abs(value - levels[-2][-2]))
    shares = WEIGHTS[:, None] / distances
    rounding = ROUNDING_SAFETY * np.sqrt(
        np.sum((shares * noise[side]) ** 2, axis=0) + (shares.sum(axis=0) * noise[0]) ** 2
    )
    error = TRUNCATION_SAFETY * change + rounding + 2.0**-52 * np.abs(value)
    doubt = ROUNDING_SAFETY * np.hypot(noise[side], noise[0]) / np.abs(distances)
    return value, np.where(np.isfinite(error) & _converge(slopes, doubt), error, np.inf), rounding


def _levels(slopes: Floats) -> list[Floats]:
    """Return the columns of Richardson's table for errors of orders 1, 2, 3 and so on."""
    levels = [slopes]
    for order in range(1, len(slopes)):
        levels.append((2.0**order * levels[-1][1:] - levels[-1][:-1]) / (2.0**order - 1))
    return levels


WEIGHTS = _levels(np.eye(HALVINGS))[-1][-1]
"""Weight of each slope in the last extrapolation."""


def _converge(slopes: Floats, doubt: Floats) -> Booleans:
    """Return True where the changes of the slopes shrink with each halving, up to rounding."""
    changes = np.abs(np.diff(slopes, axis=0))
    return np.asarray(np.all(changes[1:] <= SLOWEST * changes[:-1] + doubt[1:-1] + doubt[2:], axis=0))
