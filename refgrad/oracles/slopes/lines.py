"""Slopes of all outputs of a function along a direction, from values of the function at one point at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refgrad.oracles.slopes.curves import (
    NOISE_LINE,
    BoundedSlopes,
    Floats,
    Places,
    Samples,
    finite,
    table_noise_at_kinks,
)
from refgrad.oracles.slopes.slopes import Scale, central_slopes, one_sided_slopes

Along = Callable[[float], Floats]
"""Function that returns the flattened outputs at a distance along the direction, not finite outside of its domain."""

TYPICAL_RANK = 2


def noise_along(along: Along, scale: Scale) -> Floats:
    """Return the standard deviation of each output's rounding errors, plus a unit roundoff of its largest value."""
    values = np.stack([[along(step * place) for step in scale.noise_steps] for place in NOISE_LINE])
    largest = finite(np.abs(values)).max(axis=(0, 1))
    return np.asarray(finite(table_noise_at_kinks(values, TYPICAL_RANK)).max(axis=0) + scale.unit * largest)


def slopes_around(along: Along, here: Floats, deviation: Floats, scale: Scale, shrink: float = 1.0) -> BoundedSlopes:
    """Return the slopes by central differences only; unknown where these do not suffice."""
    line = _Line(along, here, deviation, scale.unit)
    return central_slopes(line, [np.full(here.size, step * shrink) for step in scale.steps])


def slopes_along(along: Along, here: Floats, deviation: Floats, scale: Scale, shrink: float = 1.0) -> BoundedSlopes:
    """Return the slopes at distance 0; ``here`` are the outputs there, ``deviation`` their noise.

    At a kink the bound covers all slopes that are legal. ``shrink`` is a factor that makes every step smaller, for a
    second estimate.
    """
    line = _Line(along, here, deviation, scale.unit)
    steps = [np.full(here.size, step * shrink) for step in scale.steps]
    return one_sided_slopes(line, steps, central_slopes(line, steps))


class _Line:
    """The outputs along a direction, as curves."""

    def __init__(self, along: Along, here: Floats, deviation: Floats, unit: float) -> None:
        self.along, self.here, self.deviation, self.unit = along, here, deviation, unit
        self.batch = max(1, here.size)

    def sample(self, places: Places, distances: Floats) -> Samples:
        """Return some outputs at distances that are equal for all of them."""
        values = [self.along(float(row[0])) if row[0] else self.here for row in distances]
        return Samples(np.stack(values)[:, places], distances)

    def noise(self, places: Places, samples: Samples) -> Floats:
        """Return the noise at distance 0, or a unit roundoff of each value where that is larger."""
        return np.maximum(self.deviation[places], self.unit * np.abs(samples.values))
