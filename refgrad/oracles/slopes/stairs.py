"""Judgement of gradients of functions that are staircases, since they round to a low precision whatever their dtype is.

A kernel of NumPy, C++ or Triton may round to bfloat16 or float32 inside of a function of float64. Its values do not
change at all within a stair, so that small steps see a slope of 0. Such a function is recognized by outputs that do not
change in any bit with a tiny step, but do with a large step.

The slope is fitted to values at many points on both sides that are many stairs away. All entries of these points are
moved by up to half a stair at random, so that their rounding errors differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from refgrad.documents import parsed_toml
from refgrad.oracles.judgement import Discrepancy, vague_above
from refgrad.oracles.slopes.curves import Booleans, Floats, Positions
from refgrad.oracles.slopes.directions import DIRECTIONS, Directions, Seeds, halved
from refgrad.scenario.formats import FLOAT64, FORMATS, least_precise
from refgrad.specification import shipped_path

NUMBERS: Final[Any] = SimpleNamespace(**parsed_toml(shipped_path("numbers", "stairs.toml")))
"""Chosen numbers of ``specs/numbers/stairs.toml``, which describes them."""


@dataclass(frozen=True, slots=True)
class Stairs:
    """The coarsest format of a function and its tensors, and whether the function surely rounds to such a format.

    A function that rounds on purpose has stairs, too, but these are multiples of one number. A function of float64 that
    is as noisy as float32 is judged as a staircase, too.
    """

    precision: str
    sure: bool


def stairs_of(function: Directions) -> Stairs | None:
    """Return the stairs of a function, or None if it has none."""
    flat, values = function.flat, function.function.values
    wave = np.cos(np.arange(flat.size) ** 2.0)
    step = np.copysign(1 + np.abs(wave), wave) * function.magnitude / NUMBERS.divisor
    tiny = NUMBERS.tiny * FLOAT64.unit * step
    still = values(flat + tiny) == function.here
    if not still.any():
        return None
    points = [flat + way * 2.0**-octave * step for octave in range(NUMBERS.octaves) for way in (1, -1)]
    sides, near = (np.stack([values(point + by) for point in points]) for by in (0.0, tiny))
    with np.errstate(all="ignore"):
        few_bits = (sides == sides.astype(np.float32)).all(axis=0)
        changes = np.abs(sides[-2:] - function.here).min(axis=0)  # a tiny step would show them in float64
    still &= few_bits | (changes > NUMBERS.change * np.abs(function.here))
    still &= (np.mean(sides == near, axis=0) > 1 / 2) & (sides != function.here).any(axis=0)
    seen = np.stack([function.here, *sides])[:, still]
    seen = seen[np.isfinite(seen) & (seen != 0)]
    if not seen.size or (seen == np.rint(seen)).all():
        return None
    bits, floating = _format_of(seen)
    if bits < FORMATS["float8_e5m2"].bits:  # a few constants
        return None
    width = _width(function, still)
    names = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    by_width = next((name for name in names if FORMATS[name].unit >= width), names[-1])
    by_bits = next((name for name in reversed(names) if FORMATS[name].bits >= bits), names[0])
    sure = floating or bits >= FORMATS["float32"].bits - 1
    return Stairs(
        least_precise([by_bits, by_width, function.function.precision]),
        sure if bits <= FORMATS["float32"].bits else by_width == names[0],
    )


def _format_of(numbers: Floats) -> tuple[float, bool]:
    """Return the number of bits of some numbers, and whether small ones have as many as large ones."""
    mantissas, exponents = np.frexp(np.abs(numbers))
    whole = np.ldexp(mantissas, FLOAT64.bits).astype(np.int64)
    bits = FLOAT64.bits - np.log2(whole & -whole)
    small = exponents <= exponents.max() - 2
    enough = min(np.count_nonzero(small), np.count_nonzero(~small)) >= NUMBERS.fewest
    return float(bits.max()), bool(enough and bits[small].max() == bits.max())


def _width(function: Directions, still: Booleans) -> float:
    """Return the median of the smallest relative steps of single large entries that change an output."""
    steps = 2.0 ** np.arange(-FORMATS["float32"].bits - NUMBERS.octaves, -NUMBERS.octaves)
    smallest = []
    for entry in np.argsort(-np.abs(function.flat))[: NUMBERS.fewest]:
        axis = np.where(np.arange(function.flat.size) == entry, function.magnitude, 0.0)
        sides = np.stack([function.function.values(function.flat + step * axis) for step in steps])
        smallest.append(steps[int(np.argmax((sides != function.here)[:, still].any(axis=1)))])
    return float(np.median(smallest))


class StaircaseClaim:
    """A claimed gradient of the sum of seed · output of a staircase, and its comparison with fitted slopes."""

    def __init__(self, function: Directions, stairs: Stairs, seeds: Seeds, weights: Floats, claimed: Floats) -> None:
        """Take the seeds, also as one array of weights, and the flattened gradients."""
        self.function, self.seeds, self.weights, self.claimed = function, seeds, weights, claimed
        self.form, self.sure = FORMATS[stairs.precision], stairs.sure
        [self.random] = function.choices.spawn(1)
        self.inputs = np.split(np.arange(claimed.size), function.ends[:-1])

    def discrepancies(self) -> Iterator[Discrepancy | None]:
        """Yield a discrepancy or None for directions through each input, and for each entry if there are few."""
        for members in self.inputs:
            yield from map(self.of, self.directions(members))
        if self.function.method == "differences":
            yield from map(self.of_entry, range(self.claimed.size))

    def directions(self, members: Positions) -> Iterator[Floats]:
        """Yield a direction along which the parts of all entries of an input add up, and others if there are many.

        The entries of the first one that have the same sign form further directions: a term that is too large by some
        percent may be hidden by larger entries of the other sign, as probabilities are by those of the targets.
        """
        count = DIRECTIONS if self.function.method == "directions" else int(members.size > 1)
        for number in range(count):
            vector = self.function.random_vector(members)
            if number == 0:
                vector = np.where(self.claimed == 0, vector, np.copysign(vector, self.claimed))
                parts = (np.where(sign * vector > 0, vector, 0.0) for sign in (1, -1))
                yield from (part for part in parts if 1 < np.count_nonzero(part) < members.size)
            yield vector

    def of_entry(self, flat: int) -> Discrepancy | None:
        """Return the discrepancy along the axis of an entry, or None."""
        vector = np.zeros(self.claimed.size)
        vector[flat] = self.function.magnitude[flat]
        self.function.looked_at.add(int(flat))
        return self.of(vector)

    def of(self, vector: Floats) -> Discrepancy | None:
        """Return the discrepancy along a direction, of a single entry if only one is wrong, or None.

        Only a discrepancy that new samples confirm is ``wrong``.
        """
        discrepancy = self.compared(vector)
        if discrepancy is None or not discrepancy.failing:
            return discrepancy
        if self.failing(vector, np.flatnonzero(vector)) is None:
            return replace(discrepancy, severity="inconclusive", cause="noise")
        _, part = halved(np.flatnonzero(vector), partial(self.failing, vector))
        return part if part is not None and part.entry is not None else discrepancy

    def failing(self, vector: Floats, entries: Positions) -> Discrepancy | None:
        """Return the discrepancy along the part of a vector that moves some entries if it is failing, else None."""
        discrepancy = self.compared(np.where(np.isin(np.arange(vector.size), entries), vector, 0.0))
        return discrepancy if discrepancy is not None and discrepancy.failing else None

    def compared(self, vector: Floats) -> Discrepancy | None:
        """Compare the claimed gradient with the slope along a direction, and return the discrepancy or None.

        An error of up to twice the sum of the errors of the slope and of a right gradient is inconclusive. In float32 a
        right gradient may err by a rounding of the largest entry: 1 + erf is only as accurate far left of 0.
        """
        function, along = self.function, np.flatnonzero(vector)
        members = self.inputs[int(np.searchsorted(function.ends, along[0], side="right"))]
        observed = float(self.claimed @ vector)
        value, error, moved = self.slope(vector)
        outputs = float(np.linalg.norm((self.weights * function.sizes)[moved]))
        rounding = self.form.unit * (abs(observed) + outputs * np.sqrt(np.mean(vector[along] ** 2)))
        parts = np.abs(self.claimed * function.magnitude)[members]
        typical = max(abs(observed), float(parts.max()), NUMBERS.detectable**2 * outputs)
        lost = 0.0 if self.form.narrow else self.form.unit * typical
        doubt = float(error + rounding + lost + 2 * np.std(self.nearby @ vector))
        vague = vague_above(self.form)
        if len(along) > 1 or len(members) == 1:
            vague = min(vague, NUMBERS.detectable)
        gap = abs(observed - value)
        if self.sure and (gap <= doubt <= vague * typical or not (observed or moved.any())):
            return None
        position, _ = function.index_of(int(along[0]))
        discrepancy = function.discrepancy(vector, observed, (value - error, value + error), position)
        if gap <= 2 * doubt or np.isinf(doubt):
            return replace(discrepancy, severity="inconclusive", cause="noise")
        return replace(discrepancy, explained=gap / doubt)

    @cached_property
    def nearby(self) -> Floats:
        """Claimed gradients at points on the same stair or the next, which show how they are rounded."""
        gradients = [self.function.function.gradient(self.moved(), self.seeds) for _ in range(NUMBERS.pairs)]
        return np.stack([self.claimed, *(each for each in gradients if each is not None)])

    def moved(self) -> Floats:
        """Return a point up to half a stair away."""
        function = self.function
        return function.flat + self.form.unit / 2 * function.magnitude * self.random.uniform(-1, 1, function.flat.size)

    def slope(self, vector: Floats) -> tuple[float, float, Booleans]:
        """Return the slope of the weighted sum along a direction, its error, and a mask of the outputs that move."""
        count = NUMBERS.pairs if self.form.narrow else NUMBERS.pairs // 2
        count *= 2 if np.count_nonzero(vector) > 1 else 1
        octaves = np.repeat(np.arange(NUMBERS.octaves) + self.form.bits // NUMBERS.divisor, count)
        distances = self.random.uniform(0.5, 1, octaves.size) / 2.0**octaves
        antisymmetric, symmetric = np.zeros(distances.size), np.zeros(distances.size)
        moved = np.zeros(self.weights.size, dtype=bool)
        used = self.weights != 0
        for k, distance in enumerate(distances):
            middle = self.moved()
            here, right, left = (self.function.function.values(middle + way * distance * vector) for way in (0, 1, -1))
            antisymmetric[k] = self.weights[used] @ (right - left)[used] / 2
            symmetric[k] = self.weights[used] @ ((right - here) + (left - here))[used] / 2
            moved |= right != left
        starts = range(0, distances.size - count, count)
        fits = (fitted(distances[n:], antisymmetric[n:], symmetric[n:]) for n in starts)
        value, error = min(fits, key=lambda fit: fit[1])
        return value, error, moved & used


def fitted(distances: Floats, antisymmetric: Floats, symmetric: Floats) -> tuple[float, float]:
    """Return the slope of a function, and its error, from its antisymmetric and symmetric parts at some distances.

    A line and a cubic are each held against the next odd polynomial. Half the difference of the slopes to either side,
    which the symmetric part shows, is added to the error. If there are only a few different values, the error is at
    least their distance.
    """
    different = len(np.unique(antisymmetric))
    if different == 1 or not np.isfinite(antisymmetric + symmetric).all():
        return 0.0, np.inf
    grain = float(np.ptp(antisymmetric)) / different if different < len(antisymmetric) / 2 else 0.0
    half_kink, _ = _first_coefficient(distances, symmetric, (1, 2), 0.0)
    fits = [_first_coefficient(distances, antisymmetric, powers, grain) for powers in ((1,), (1, 3), (1, 3, 5))]
    results = [
        (NUMBERS.sure * deviation + 2 * abs(value - finer) + abs(half_kink), value)
        for (value, deviation), (finer, _) in pairwise(fits)
    ]
    error, value = min(results)
    return value, error


def _first_coefficient(distances: Floats, values: Floats, powers: Sequence[int], grain: float) -> tuple[float, float]:
    """Return the coefficient of the first power of the distance, and its standard error."""
    columns = np.stack([distances**power for power in powers], axis=1)
    inverse = np.linalg.pinv(columns)
    coefficients = inverse @ values
    rest = values - columns @ coefficients
    spread = float(np.sqrt(rest @ rest / (len(distances) - len(powers))))
    return float(coefficients[0]), float(max(spread, grain) * np.linalg.norm(inverse[0]))
