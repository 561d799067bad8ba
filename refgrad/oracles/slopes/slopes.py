"""Slopes at 0 of functions of one variable, and of all outputs of a function along a line, with error bounds.

Values are sampled at three steps h, h/4 and h/16 to either side. Central differences are extrapolated twice
(Richardson; error of order h⁶, or h³ where the second derivative jumps and that promises less error). The last two
extrapolations bound the truncation error, and the noise of the function bounds the rounding error. The difference
between the slopes to either side, extrapolated likewise, is the jump at a kink. It is added to the error, so that the
interval contains all slopes that are legal. Smaller steps are tried while they promise less error. Where a side is
outside of the domain, slopes to the other side are extrapolated (``one_sided``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from refgrad.oracles.slopes.curves import (
    NOISE_LINE,
    ROUNDING_SAFETY,
    Along,
    BoundedSlopes,
    Floats,
    Line,
    Positions,
    Samples,
    finite,
    table_noise_at_kinks,
)
from refgrad.oracles.slopes.one_sided import one_sided
from refgrad.scenario.formats import FORMATS

TYPICAL_RANK = 2
"""Rank by size of the difference that measures the noise: kinks disturb only the largest of them."""

RATIO = 4.0
SHIFTS = np.array([1.0, -1.0, 1 / RATIO, -1 / RATIO, 1 / RATIO**2, -1 / RATIO**2])
TRUNCATION_SAFETY = 2.0

JUMPING = RATIO - 1
"""Ratio of the distance of the first two extrapolations to the error of the last if the second derivative jumps.

The error of central differences of ``x * |x|`` at 0 is proportional to the step, not to its square. Extrapolations for
smooth functions then leave 0.1, 0.025 and 0.0247 of the step.
"""

STRAIGHTENING = 8.0
"""Smallest factor by which a sixteenth of the step must bring the mean of both sides nearer to the middle.

The factor is 256 where the function is smooth, 16 at a kink, and less across a jump or a pole, where the differences
determine no slope.
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """The steps for a precision, from large to small, and those that measure the noise.

    The latter are thirds of powers of two: a function that computes in float32 internally rounds multiples of its
    spacing the same way each time, but never thirds. If a large number is added, a function is a staircase, flat at
    small steps: the larger of the two noise steps reveals its stairs.
    """

    unit: float
    steps: tuple[float, ...]
    noise_steps: tuple[float, ...]


THIRD = 1 / 3
SCALES: Mapping[str, Scale] = MappingProxyType({
    "float64": Scale(
        FORMATS["float64"].unit, (2.0**-7, 2.0**-13, 2.0**-19, 2.0**-25), (THIRD * 2.0**-38, THIRD * 2.0**-11)
    ),
    "float32": Scale(FORMATS["float32"].unit, (2.0**-2, 2.0**-6, 2.0**-10), (THIRD * 2.0**-16, THIRD * 2.0**-11)),
    "float16": Scale(FORMATS["float16"].unit, (2.0**-1, 2.0**-3), (2.0**-10, THIRD * 2.0**-5)),
    "bfloat16": Scale(FORMATS["bfloat16"].unit, (2.0**-1, 2.0**-2), (2.0**-7, THIRD * 2.0**-3)),
    "float8_e4m3fn": Scale(FORMATS["float8_e4m3fn"].unit, (1.0, 2.0**-1), (2 * FORMATS["float8_e4m3fn"].unit, THIRD)),
    "float8_e5m2": Scale(FORMATS["float8_e5m2"].unit, (1.0, 2.0**-1), (2 * FORMATS["float8_e5m2"].unit, THIRD)),
})
"""Scale of each precision. The smallest noise steps of 16 and 8 bits are a unit in the last place."""


def central_slopes(curves: Line, tries: Iterable[Floats], known: BoundedSlopes | None = None) -> BoundedSlopes:
    """Return the slope of each curve at 0 with an error bound, infinite where the slope is unknown.

    ``tries`` have a step for each curve, or NaN where there is none. Each is made for the curves for which it promises
    a smaller error than that of ``known`` and of the tries before.
    """
    slopes = known or BoundedSlopes.unknown(len(curves.here))
    for steps in tries:
        indices = promising(curves.deviation, steps, slopes)
        if indices.size:
            slopes = slopes.improved(indices, _central(curves, indices, steps[indices]))
    return slopes


def promising(deviation: Floats, steps: Floats, slopes: BoundedSlopes) -> Positions:
    """Return the indices of the curves for which the rounding error at these steps is less than the error so far."""
    return np.flatnonzero(slopes.error > _rounding(deviation, steps))


def one_sided_slopes(curves: Line, tries: Iterable[Floats], known: BoundedSlopes) -> BoundedSlopes:
    """Estimate unknown slopes from one side, and again while the error exceeds twice its rounding part."""
    unknown = np.isinf(known.error)
    if not unknown.any():
        return known
    slopes = known
    for steps in tries:
        indices = np.flatnonzero(unknown & np.isfinite(steps) & (slopes.error > 2 * slopes.rounding))
        if indices.size:
            slopes = slopes.improved(indices, one_sided(curves, indices, steps[indices]))
    return slopes


def _central(curves: Line, indices: Positions, steps: Floats) -> BoundedSlopes:
    """Return the slopes of some curves by central differences."""
    samples = curves.sample(indices, np.multiply.outer(SHIFTS, steps))
    with np.errstate(all="ignore"):
        return _extrapolated(samples, curves.here[indices], _rounding(_largest(curves, indices, samples), steps), steps)


def _largest(curves: Line, indices: Positions, samples: Samples) -> Floats:
    """Return the noise at the points of a stencil, at which the function may be larger than in the middle."""
    largest = finite(np.abs(samples.values)).max(axis=0)
    return np.asarray(np.maximum(curves.deviation[indices], curves.unit * largest))


def _rounding(deviation: Floats, steps: Floats) -> Floats:
    return np.asarray(ROUNDING_SAFETY * deviation * RATIO**2 / steps)


def _extrapolated(samples: Samples, here: Floats, rounding: Floats, steps: Floats) -> BoundedSlopes:
    right, left = samples.values[0::2], samples.values[1::2]
    differences = (right - left) / (samples.distances[0::2] - samples.distances[1::2])
    value, error, spread = _twice(differences, RATIO**2, RATIO**4, JUMPING)
    jumping, error_there, _ = _twice(differences, RATIO, RATIO**2, RATIO)
    value, error = np.where(error_there < error, jumping, value), np.fmin(error_there, error)
    # Around a smooth point the even part vanishes with h; at a kink, or within a step of one, the jump remains.
    jumps = ((right - here) - (here - left)) / np.multiply.outer(SHIFTS[0::2], steps)
    jump, jump_error, jump_spread = _twice(jumps, RATIO, RATIO**3, RATIO**2)
    kink = np.abs(jump) > jump_error + 4 * rounding
    # With a kink between two of the points the extrapolations are useless, and their spread is the error.
    half = np.abs(jump) / 2
    error = error + rounding + half + np.where(kink, TRUNCATION_SAFETY * (spread + jump_spread), half)
    curvatures = np.abs((right - here) - (here - left)) / 2
    straight = curvatures[-1] <= curvatures[0] / STRAIGHTENING + rounding * steps / RATIO**2
    known = straight & np.isfinite(value) & np.isfinite(error)
    return BoundedSlopes(np.where(known, value, 0.0), np.where(known, error, np.inf), rounding, kink & known)


def _twice(differences: Floats, first: float, second: float, caution: float) -> tuple[Floats, Floats, Floats]:
    """Extrapolate three differences twice.

    Returns the result, its error (the last change by an extrapolation) and the distance between the first two.
    """
    coarse, middle, fine = differences
    one = (first * middle - coarse) / (first - 1)
    two = (first * fine - middle) / (first - 1)
    best = (second * two - one) / (second - 1)
    spread = np.abs(two - one)
    return best, TRUNCATION_SAFETY * np.maximum(np.abs(best - two), spread / caution), spread


def noise_along(along: Along, scale: Scale) -> Floats:
    """Return the standard deviation of each output's rounding errors, plus a unit roundoff of its largest value."""
    values = np.stack([[along(step * at) for step in scale.noise_steps] for at in NOISE_LINE])
    largest = finite(np.abs(values)).max(axis=(0, 1))
    return np.asarray(finite(table_noise_at_kinks(values, TYPICAL_RANK)).max(axis=0) + scale.unit * largest)


def slopes_along(line: Line, steps: Iterable[float], *, sides: bool = True) -> BoundedSlopes:
    """Return the slopes of the outputs at distance 0, by central differences, and by those to one side where it fails.

    At a kink the bound covers all slopes that are legal. Without ``sides`` there are central differences only.
    """
    tries = [np.full(line.here.size, step) for step in steps]
    slopes = central_slopes(line, tries)
    return one_sided_slopes(line, tries, slopes) if sides else slopes
