"""What is the slope of a function along a direction, by differences alone, and how far off can that be?

Three steps h, h/4 and h/16 to either side. Central differences are extrapolated twice (Richardson; error of order h⁶).
The last two extrapolations bound the truncation, the measured noise of the function bounds the rounding. What the
slopes to either side differ by, extrapolated likewise, is the jump at a kink, which is added: the interval then holds
all slopes that are legal. Smaller steps are tried while they promise less error; outside of the domain (not finite) the
steps get smaller until they stay inside, or one side is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Along = Callable[[float], Floats]
"""The outputs, flattened, at a distance along the direction."""

RATIO = 4.0
TRUNCATION_SAFETY = 2.0
BORDER_CAUTION = 64.0
"""At the border of a domain a function need not have a Taylor series: x ** 1.5 converges by 2 where 4 is hoped for."""


ROUNDING_SAFETY = 16.0
THIRD = 1 / 3


@dataclass(frozen=True, slots=True)
class Scale:
    """The steps that suit a precision: the first ones of each attempt, and those that show the noise.

    The latter are thirds of powers of two: a function that computes in float32 inside rounds whole multiples of its
    spacing the same way each time, but thirds never.
    """

    unit: float
    steps: tuple[float, ...]
    noise_steps: tuple[float, ...]


SCALES: Mapping[str, Scale] = MappingProxyType({
    "float64": Scale(2.0**-53, (2.0**-7, 2.0**-13, 2.0**-19, 2.0**-25), (THIRD * 2.0**-38, THIRD * 2.0**-20)),
    "float32": Scale(2.0**-24, (2.0**-2, 2.0**-6, 2.0**-10), (THIRD * 2.0**-16, THIRD * 2.0**-11)),
})

NOISE_POINTS = 11
NOISE_ORDER = 3
NOISE_VARIANCE = 20.0
"""Third differences of noise of variance 1 have the variance 6! / 3!² (Moré and Wild, SIAM J. Sci. Comput. 2011)."""

TYPICAL_RANK = 3
TYPICAL_SIZE = 0.57
"""The fourth smallest of eight normal variables, relative to the deviation: a kink disturbs three of them at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """For each output the interval in which its slope lies, and whether it is one because of a kink."""

    lower: Floats
    upper: Floats
    kink: npt.NDArray[np.bool_]

    def weighted(self, weights: Floats) -> tuple[float, float, bool]:
        """Return the interval of the sum of weight · slope, and whether a kink takes part."""
        used = weights != 0
        w, low, high = weights[used], self.lower[used], self.upper[used]
        ends = np.sort(np.stack([w * low, w * high]), axis=0)
        return float(ends[0].sum()), float(ends[1].sum()), bool(self.kink[used].any())


def noise(along: Along, scale: Scale) -> Floats:
    """Return the standard deviation of each output's rounding errors, and at least a unit of roundoff of its size."""
    line = np.arange(NOISE_POINTS) - NOISE_POINTS // 2
    deviations = []
    for step in scale.noise_steps:
        values = np.stack([along(step * k) for k in line])
        differences = np.abs(np.diff(values, NOISE_ORDER, axis=0))
        typical = np.sort(differences, axis=0)[TYPICAL_RANK]
        deviations.append(typical / (TYPICAL_SIZE * np.sqrt(NOISE_VARIANCE)))
        size = np.abs(values).max(axis=0)
    return np.asarray(_finite(np.stack(deviations)).max(axis=0) + scale.unit * _finite(size))


def slopes(along: Along, here: Floats, deviation: Floats, scale: Scale, shrink: float = 1.0) -> Slopes:
    """Return the slopes at distance 0; ``here`` are the outputs there, ``deviation`` their noise.

    ``shrink`` makes every step smaller by a factor: another opinion.
    """
    count = len(here)
    best = _Attempt(np.zeros(count), np.full(count, np.inf), np.zeros(count, bool), np.zeros(count))
    for number, step in enumerate(scale.steps):
        best = best.improved(_attempt(along, here, _Noise(deviation, scale.unit), step * shrink))
        following = scale.steps[number + 1] * shrink if number + 1 < len(scale.steps) else 0.0
        if not following or not np.any(best.error > _rounding(deviation, following)):
            break
    return Slopes(best.value - best.error, best.value + best.error, best.kink)


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """A slope and its error, infinite where there is none, and whether that is as large as it is because of a kink.

    ``rounding`` is the part of the error that comes from the function's noise.
    """

    value: Floats
    error: Floats
    kink: npt.NDArray[np.bool_]
    rounding: Floats

    def improved(self, other: _Attempt) -> _Attempt:
        """Take over what another attempt, with smaller steps, knows better.

        A slope that moves with the steps by more than its error, and by more than rounding does, belies that error.
        """
        apart = np.abs(np.where(np.isfinite(self.error) & np.isfinite(other.error), other.value - self.value, 0.0))
        moves = apart > self.error + other.rounding
        error = np.where(moves, apart + other.error, self.error)
        better = other.error < error
        return _Attempt(
            np.where(better, other.value, self.value),
            np.where(better, other.error, error),
            np.where(better, other.kink, self.kink),
            np.where(better, other.rounding, self.rounding),
        )


def _rounding(deviation: Floats, step: float) -> Floats:
    return ROUNDING_SAFETY * deviation * RATIO**2 / step


@dataclass(frozen=True, slots=True, eq=False)
class _Noise:
    """The deviation at the point itself, and the unit roundoff, for points where the outputs are larger."""

    deviation: Floats
    unit: float

    def around(self, pairs: list[tuple[Floats, Floats]]) -> Floats:
        """Return the deviation at the points of a stencil."""
        largest = np.max([_finite(np.abs(side)) for pair in pairs for side in pair], axis=0)
        return np.asarray(np.maximum(self.deviation, self.unit * largest))


def _attempt(along: Along, here: Floats, noise: _Noise, step: float) -> _Attempt:
    steps = (step, step / RATIO, step / RATIO**2)
    pairs = [(along(h), along(-h)) for h in steps]
    rounding = _rounding(noise.around(pairs), step)
    with np.errstate(all="ignore"):
        sides = [(a - b) / (2 * h) for (a, b), h in zip(pairs, steps, strict=True)]
        value, error, spread = _extrapolated(sides, 16.0, 256.0, 64.0)
        # What is even around a smooth point vanishes with h; at a kink, or within a step of one, the jump remains.
        jumps = [((a - here) - (here - b)) / h for (a, b), h in zip(pairs, steps, strict=True)]
        jump, jump_error, jump_spread = _extrapolated(jumps, 4.0, 64.0, 16.0)
        kink = np.abs(jump) > jump_error + 4 * rounding
        # With a kink between two of the points the extrapolations are of no use, and their spread is the error.
        half = np.abs(jump) / 2
        error = error + rounding + half + np.where(kink, TRUNCATION_SAFETY * (spread + jump_spread), half)
        value, error = _one_sided(pairs, here, steps, _Attempt(value, error, kink, rounding))
    known = np.isfinite(value) & np.isfinite(error)
    return _Attempt(np.where(known, value, 0.0), np.where(known, error, np.inf), kink & known, rounding)


def _one_sided(
    pairs: list[tuple[Floats, Floats]], here: Floats, steps: tuple[float, ...], central: _Attempt
) -> tuple[Floats, Floats]:
    """Return value and error, from one side where the other is outside of the domain."""
    value, error = central.value, central.error
    if np.isfinite(error).all():
        return value, error
    for side, sign in ((0, 1.0), (1, -1.0)):
        slopes = [(pair[side] - here) / (sign * h) for pair, h in zip(pairs, steps, strict=True)]
        one, one_error, _ = _extrapolated(slopes, 4.0, 16.0, 8.0)
        only = np.isfinite(one_error) & ~np.isfinite(error)
        value = np.where(only, one, value)
        error = np.where(only, BORDER_CAUTION * (one_error + 2 * central.rounding), error)
    return value, error


def _finite(array: Floats) -> Floats:
    return np.where(np.isfinite(array), array, 0.0)


def _extrapolated(
    differences: list[Floats], first: float, second: float, caution: float
) -> tuple[Floats, Floats, Floats]:
    """Extrapolate three differences twice.

    Returns the result, its error (what the last extrapolation still changed) and how far the first ones are apart.
    """
    coarse, middle, fine = differences
    one = (first * middle - coarse) / (first - 1)
    two = (first * fine - middle) / (first - 1)
    best = (second * two - one) / (second - 1)
    error = TRUNCATION_SAFETY * np.maximum(np.abs(best - two), np.abs(two - one) / caution)
    return best, error, np.abs(two - one)
