"""What is the gradient by differences alone, and how far off can that be?

Central differences of the steps h, h/2, h/4 and h/8 make three Richardson extrapolations (error O(h⁴) each). How well
these agree estimates the truncation error. The rounding error is estimated from the noise of the function itself,
measured by a table of differences (Moré and Wild, Estimating computational noise, SIAM J. Sci. Comput. 2011). An entry
whose stencil reaches across a kink has an infinite error. Entries that a step leaves uncertain are tried again with
smaller ones, and at last with the slopes on either side. All perturbations of all leaves run through batched
evaluations of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import BatchedComplex128, BatchedFloat64, ComplexArray, Shaking, evaluate, expanded
from refgrad.oracles.branches import Pattern, patterns
from refgrad.oracles.one_sided import SHIFTS, one_sided_differences
from refgrad.scenario import Apply, Constant, Leaf, Scenario

Contributions = tuple[tuple[str, Constant | None], ...]
Floats = npt.NDArray[np.float64]

STEPS = (2.0**-9, 2.0**-13, 2.0**-17, 2.0**-21)
"""First steps, relative to max(|x|, 1/2): at 2⁻⁹ the truncation O(h⁴) meets the rounding O(2⁻⁵³ / h) near 1e-13."""

CLOSER_STEPS = (2.0**-26, 2.0**-31, 2.0**-36)
"""Steps of the same for entries that the others left untold, as close to a border of a domain."""

OWN_STEPS = (2.0**-9, 2.0**-14)
"""Steps for these entries relative to |x| itself: near 0 a logarithm bends at the distance |x|."""

SIDE_STEPS = (2.0**-7, 2.0**-12, 2.0**-20)
"""Steps to either side, relative to max(|x|, 1/2)."""

ZERO_STEPS = (2.0**-50, 2.0**-150, 2.0**-400)
"""Steps to either side of zero, where ever smaller ones are exact: those of x ** 1.2 have to be."""

SHAKINGS = 8
"""How often the function is evaluated with every operation shaken, to see its noise without moving the leaves.

Near a singularity a table of differences takes for noise what is none.
"""

GOAL = 1e-9
"""Relative error at which no smaller step is tried."""

LATE_GOAL = 1e-8
"""Relative error at which nothing is tried but smaller steps."""

FAIR = 1e-6
"""Relative error at which nothing more is tried where it is that of rounding, which grows as steps shrink."""

SHRINKING = (1.0, 0.5, 0.25, 0.125)
ROUNDING_SAFETY = 16.0
TRUNCATION_SAFETY = 4.0
BATCH_BYTES = 2**20

NOISE_POINTS = 9
NOISE_STEPS = (2.0**-40, 2.0**-26, 2.0**-12)
"""Distances at which noise is looked for: beside a large number a function is a staircase, flat from near."""

NOISE_ORDERS = (4, 6)
"""Differences of these orders cancel what is smooth; where they do not agree, the smaller is nearer to the noise."""

STRAIGHTENING = 16.0
"""An eighth of a step must bring the mean of both sides nearer to the middle by this factor; 64 where all is smooth."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A gradient by finite differences with an error bound for each entry.

    The bound is infinite where nothing can be told: across a kink or a jump, outside of the domain, or where the bound
    would be larger than the value itself.
    """

    value: Floats
    error: Floats


@dataclass(frozen=True, slots=True)
class Noise:
    """The value of a function, and the standard deviation of its rounding errors."""

    middle: float
    deviation: float


def finite_differences(scenario: Scenario, contributions: Contributions) -> dict[str, Difference]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad.

    Raises ScenarioEvaluationError where shapes do not fit.
    """
    search = _Search(_Function(expanded(scenario), contributions))
    with np.errstate(all="ignore"):
        search.run()
    values, errors = (search.function.split(array) for array in (search.values, search.errors))
    return {name: Difference(values[name], errors[name]) for name in values}


class _Search:
    """The best slope and error bound so far of every entry."""

    def __init__(self, function: _Function) -> None:
        self.function, self.goal = function, GOAL
        self.values, self.errors = np.zeros(function.base.size), np.full(function.base.size, np.inf)
        self.settled = np.zeros(function.base.size, dtype=bool)

    def run(self) -> None:
        """Try every step on the entries that are still uncertain, the most promising first."""
        base = self.function.base
        noise = _noise(self.function)
        for step in STEPS:
            self._central(step * _magnitude(base), noise)
        self.goal = LATE_GOAL
        if not self._open().size:
            return
        noise = Noise(noise.middle, _shaken_deviation(self.function))
        for step in CLOSER_STEPS:
            self._central(step * _magnitude(base), noise)
        for step in OWN_STEPS:
            self._central(step * np.where(base == 0, np.nan, _power_above(base)), noise)
        for step in SIDE_STEPS:
            self._sides(step * _magnitude(base))
        for step in ZERO_STEPS:
            self._sides(np.where(base == 0, step, np.nan))

    def _open(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(~(self._within(self.goal) | (self.settled & self._within(FAIR))))

    def _within(self, goal: float) -> npt.NDArray[np.bool_]:
        return self.errors <= goal * np.maximum(1.0, np.abs(self.values))

    def _central(self, steps: Floats, noise: Noise) -> None:
        for entries in self._chunks(steps, 2 * len(SHRINKING)):
            values, errors, rounding = _differences(self.function, entries, steps[entries], noise)
            self._improve(entries, values, errors)
            self.settled[entries] |= errors <= 2 * rounding

    def _sides(self, steps: Floats) -> None:
        for entries in self._chunks(steps, SHIFTS.size):
            self._improve(entries, *one_sided_differences(self.function, entries, steps[entries]))

    def _chunks(self, steps: Floats, points: int) -> Iterator[npt.NDArray[np.intp]]:
        """Cut the uncertain entries that have a step so that a leaf's points at once take about ``BATCH_BYTES``."""
        entries = np.intersect1d(self._open(), np.flatnonzero(np.isfinite(steps)))
        length = max(1, BATCH_BYTES // (8 * points * max(steps.size, 1)))
        yield from (entries[start : start + length] for start in range(0, len(entries), length))

    def _improve(self, entries: npt.NDArray[np.intp], values: Floats, errors: Floats) -> None:
        better = errors < self.errors[entries]
        self.values[entries[better]], self.errors[entries[better]] = values[better], errors[better]


class _Function:
    """The sum of seed · output, as a function of all entries of the leaves that require grad."""

    def __init__(self, scenario: Scenario, contributions: Contributions) -> None:
        self.scenario = scenario
        self.contributions = contributions
        self.leaves: list[Leaf] = [leaf for leaf in scenario.leaves if leaf.requires_grad]
        self.base: Floats = np.concatenate([
            np.zeros(0),
            *(leaf.value.to_numpy().astype(np.float64).ravel() for leaf in self.leaves),
        ])
        self.path: tuple[Apply, ...] = _path(scenario, {output for output, _ in contributions})

    def __call__(self, points: Floats, shaking: Shaking | None = None) -> tuple[Floats, list[Pattern]]:
        """Return the function at every column of ``points``, and the branches that were taken there."""
        leaves = self.split(points)
        system = BatchedFloat64(leaves) if shaking is None else BatchedComplex128(leaves, shaking)
        values = evaluate(self.scenario, system)
        totals: npt.NDArray[Any] = ComplexArray.of(np.zeros(points.shape[1]), shaking)
        for output, seed in self.contributions:
            array = ComplexArray.of(values[output].stretched(points.shape[1]).reshape(-1, points.shape[1]), shaking)
            weights = np.ones(len(array)) if seed is None else seed.to_numpy().astype(np.float64).ravel()
            totals = totals + weights @ array
        return np.asarray(totals), [pattern for step in self.path for pattern in patterns(step, values)]

    def split(self, array: Floats) -> Mapping[str, Floats]:
        """Return the part of each leaf, in the leaf's shape; further axes stay behind."""
        ends = np.cumsum([leaf.value.size for leaf in self.leaves])
        return {
            leaf.name: array[end - leaf.value.size : end].reshape((*leaf.value.shape, *array.shape[1:]))
            for leaf, end in zip(self.leaves, ends, strict=True)
        }


def _path(scenario: Scenario, outputs: set[str]) -> tuple[Apply, ...]:
    """Return the applications that the outputs depend on: a kink elsewhere is no obstacle."""
    needed = set(outputs)
    path = []
    for step in reversed(scenario.applications):
        if step.name in needed:
            needed.update(step.arguments)
            path.append(step)
    return tuple(path)


def _differences(
    function: _Function, entries: npt.NDArray[np.intp], steps: Floats, noise: Noise
) -> tuple[Floats, Floats, Floats]:
    """Return slope and error bound of each of the entries, and how much of the bound is for rounding."""
    count = len(entries)
    shifts = np.array([sign * factor for factor in SHRINKING for sign in (1.0, -1.0)])
    points = np.repeat(function.base[:, None], count * len(shifts), axis=1).reshape(-1, len(shifts), count)
    points[entries, :, np.arange(count)] += (shifts[:, None] * steps).T
    moved = points[entries, :, np.arange(count)].T
    totals, taken = function(points.reshape(len(points), -1))
    totals = totals.reshape(len(shifts), count)
    slopes = (totals[0::2] - totals[1::2]) / (moved[0::2] - moved[1::2])
    bends = np.abs((totals[0::2] + totals[1::2]) / 2 - noise.middle)
    extrapolated = (4 * slopes[1:] - slopes[:-1]) / 3
    change = np.abs(np.diff(extrapolated, axis=0))
    truncation = TRUNCATION_SAFETY * np.maximum(change[1], change[0] / 8)
    rounding = ROUNDING_SAFETY * noise.deviation / (steps * SHRINKING[-1]) + 2.0**-52 * np.abs(extrapolated[2])
    smooth = bends[-1] <= bends[0] / STRAIGHTENING + ROUNDING_SAFETY * noise.deviation
    told = smooth & ~_crossing(taken, len(shifts), count) & (truncation + rounding <= np.abs(extrapolated[2]) + 1.0)
    return extrapolated[2], np.where(told, truncation + rounding, np.inf), rounding


def _crossing(taken: list[Pattern], points: int, stencils: int) -> npt.NDArray[np.bool_]:
    """Whether the points of a stencil, the first axis of the batch, do not all take the same branches."""
    crossing = np.zeros(stencils, dtype=bool)
    for pattern in taken:
        chosen = pattern.reshape(-1, points, stencils)
        crossing |= np.any(chosen != chosen[:, :1], axis=(0, 1))
    return crossing


def _noise(function: _Function) -> Noise:
    """Return the function's value and the standard deviation of its rounding errors, at least an ulp of its value."""
    base = function.base
    direction = _magnitude(base) * np.where(np.arange(base.size) % 2 == 0, 1.0, -1.0)
    line = np.multiply.outer(np.arange(NOISE_POINTS) - NOISE_POINTS // 2, NOISE_STEPS)
    totals, taken = function(base[:, None] + np.multiply.outer(direction, line.ravel()))
    totals = totals.reshape(line.shape)
    deviations = np.min([_deviations(totals, order) for order in NOISE_ORDERS], axis=0)
    told = np.isfinite(deviations) & ~_crossing(taken, *line.shape)
    middle = float(totals[NOISE_POINTS // 2, 0])
    return Noise(middle, float(deviations[told].max(initial=0.0)) + 2.0**-52 * abs(middle))


def _shaken_deviation(function: _Function) -> float:
    """Return the root of the mean square of what shaking every operation does to the function's value."""
    shaking = Shaking(np.random.default_rng(0))
    totals = np.array([function(function.base[:, None], shaking)[0][0] for _ in range(SHAKINGS)])
    deviation = np.sqrt(np.mean((totals - function(function.base[:, None])[0][0]) ** 2))
    return float(deviation) + 2.0**-52 * abs(float(totals[0])) if np.isfinite(deviation) else np.inf


def _deviations(totals: Floats, order: int) -> Floats:
    """Noise of variance 1 leaves differences of an order k a variance of (2k)! / k!²."""
    return np.asarray(np.sqrt(np.mean(np.diff(totals, order, axis=0) ** 2, axis=0) / comb(2 * order, order)))


def _magnitude(numbers: Floats) -> Floats:
    """The power of two above max(|x|, 1/2), so that small multiples of a tiny part of it are added exactly."""
    return _power_above(np.maximum(np.abs(numbers), 0.5))


def _power_above(numbers: Floats) -> Floats:
    return np.asarray(2.0 ** np.frexp(np.abs(numbers))[1])
