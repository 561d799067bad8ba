"""Slopes at 0 from values on one side, where the function does not exist on the other.

A leaf on the border of a domain (``x ** 1.5`` at 0) has points on one side only. There the one-sided derivative is the
limit that is expected.
"""

from __future__ import annotations

import numpy as np

from refgrad.oracles.slopes.curves import (
    ROUNDING_SAFETY,
    Booleans,
    BoundedSlopes,
    Floats,
    Line,
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

TRUNCATION_SAFETY = 8.0


def one_sided(curves: Line, indices: Positions, steps: Floats) -> BoundedSlopes:
    """Return the slopes of some curves. The error is infinite for those that exist on both sides, or on none."""
    samples = curves.sample(indices, np.multiply.outer(SHIFTS, steps))
    right, left = (np.asarray(~np.isfinite(samples.values[other]).any(axis=0)) for other in (LEFT, RIGHT))
    kept = np.flatnonzero(right | left)
    slopes = BoundedSlopes.unknown(len(indices))
    if not kept.size:
        return slopes
    with np.errstate(all="ignore"):
        samples = Samples(samples.values[:, kept], samples.distances[:, kept])
        noise = curves.noise(indices[kept], samples)
        sides = (side_slopes(side, samples, noise) for side in (RIGHT, LEFT))
        value, error, rounding = (np.where(right[kept], *pair) for pair in zip(*sides, strict=True))
        known = error <= np.abs(value) + 1.0
    value, error = np.where(known, value, 0.0), np.where(known, error, np.inf)
    return slopes.improved(kept, BoundedSlopes(value, error, rounding, np.zeros(kept.size, dtype=bool)))


def side_slopes(side: slice, samples: Samples, noise: Floats) -> tuple[Floats, Floats, Floats]:
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
"""Weight of the slope at each distance in the last extrapolation."""


def _converge(slopes: Floats, doubt: Floats) -> Booleans:
    """Return True where the changes of the slopes shrink with each halving, up to rounding."""
    changes = np.abs(np.diff(slopes, axis=0))
    return np.asarray(np.all(changes[1:] <= SLOWEST * changes[:-1] + doubt[1:-1] + doubt[2:], axis=0))
