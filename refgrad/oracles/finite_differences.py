"""What is the gradient by differences alone, and how far off can that be?

Central differences of the steps h, h/2, h/4 and h/8 make three Richardson extrapolations (error O(h⁴) each). How well
these agree estimates the truncation error. The rounding error is estimated from the noise of the function itself,
measured by a table of differences (Moré and Wild, Estimating computational noise, SIAM J. Sci. Comput. 2011). An entry
whose stencil reaches across a kink has an infinite error. Entries that a step leaves uncertain are tried again with
smaller ones. All perturbations of all leaves run through one batched evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import BatchedFloat64, evaluate
from refgrad.oracles.branches import Pattern, patterns
from refgrad.scenario import Apply, Constant, Leaf, Scenario

Contributions = tuple[tuple[str, Constant | None], ...]
Floats = npt.NDArray[np.float64]

STEPS = (2.0**-9, 2.0**-13, 2.0**-17, 2.0**-21)
"""First steps, relative to max(|x|, 1/2): at 2⁻⁹ the truncation O(h⁴) meets the rounding O(2⁻⁵³ / h) near 1e-13."""

GOAL = 1e-9
"""Relative error at which no smaller step is tried."""

SHRINKING = (1.0, 0.5, 0.25, 0.125)
ROUNDING_SAFETY = 16.0
TRUNCATION_SAFETY = 4.0
BATCH_BYTES = 2**20

NOISE_POINTS = 9
NOISE_STEP = 2.0**-40
NOISE_ORDER = 3
"""Differences of this order cancel what is smooth; noise of variance 1 leaves them a variance of 6! / 3!² = 20."""

NOISE_VARIANCE = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A gradient by finite differences with an error bound for each entry (infinite where it cannot tell)."""

    value: Floats
    error: Floats


def finite_differences(scenario: Scenario, contributions: Contributions) -> dict[str, Difference]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad.

    Raises ScenarioEvaluationError where shapes do not fit.
    """
    function = _Function(scenario, contributions)
    base = function.base
    values, errors = np.zeros(base.size), np.full(base.size, np.inf)
    with np.errstate(all="ignore"):
        noise = _noise(function) if base.size else 0.0
        for step in STEPS:
            for entries in _chunks(np.flatnonzero(~(errors <= GOAL * np.maximum(1.0, np.abs(values)))), base.size):
                value, error = _differences(function, entries, step, noise)
                better = error < errors[entries]
                values[entries[better]], errors[entries[better]] = value[better], error[better]
    return {
        name: Difference(value, error)
        for (name, value), error in zip(function.split(values).items(), function.split(errors).values(), strict=True)
    }


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

    def __call__(self, points: Floats) -> tuple[Floats, list[Pattern]]:
        """Return the function at every column of ``points``, and the branches that were taken there."""
        values = evaluate(self.scenario, BatchedFloat64(self.split(points)))
        totals = np.zeros(points.shape[1])
        for output, seed in self.contributions:
            array = values[output].stretched(points.shape[1]).reshape(-1, points.shape[1])
            weights = np.ones(len(array)) if seed is None else seed.to_numpy().astype(np.float64).ravel()
            totals = totals + weights @ array
        return totals, [pattern for step in self.path for pattern in patterns(step, values)]

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


def _chunks(entries: npt.NDArray[np.intp], total: int) -> Iterator[npt.NDArray[np.intp]]:
    """Cut entries so that a leaf's points at once take about ``BATCH_BYTES``."""
    length = max(1, BATCH_BYTES // (8 * 2 * len(SHRINKING) * max(total, 1)))
    yield from (entries[start : start + length] for start in range(0, len(entries), length))


def _differences(
    function: _Function, entries: npt.NDArray[np.intp], step: float, noise: float
) -> tuple[Floats, Floats]:
    """Return slope and error bound of each of the entries."""
    count = len(entries)
    steps = step * _magnitude(function.base[entries])
    shifts = np.array([sign * factor for factor in SHRINKING for sign in (1.0, -1.0)])
    points = np.repeat(function.base[:, None], count * len(shifts), axis=1).reshape(-1, len(shifts), count)
    points[entries, :, np.arange(count)] += (shifts[:, None] * steps).T
    moved = points[entries, :, np.arange(count)].T
    totals, taken = function(points.reshape(len(points), -1))
    totals = totals.reshape(len(shifts), count)
    slopes = (totals[0::2] - totals[1::2]) / (moved[0::2] - moved[1::2])
    extrapolated = (4 * slopes[1:] - slopes[:-1]) / 3
    change = np.abs(np.diff(extrapolated, axis=0))
    truncation = TRUNCATION_SAFETY * np.maximum(change[1], change[0] / 8)
    rounding = ROUNDING_SAFETY * noise / (steps * SHRINKING[-1]) + 2.0**-52 * np.abs(extrapolated[2])
    error = np.where(_crossing(taken, len(shifts), count), np.inf, truncation + rounding)
    return extrapolated[2], np.where(np.isfinite(extrapolated[2]) & np.isfinite(error), error, np.inf)


def _crossing(taken: list[Pattern], shifts: int, count: int) -> npt.NDArray[np.bool_]:
    """Whether the points of an entry's stencil do not all take the same branches."""
    crossing = np.zeros(count, dtype=bool)
    for pattern in taken:
        points = pattern.reshape(-1, shifts, count)
        crossing |= np.any(points != points[:, :1], axis=(0, 1))
    return crossing


def _noise(function: _Function) -> float:
    """Return the standard deviation of the function's rounding errors, and at least an ulp of its value."""
    base = function.base
    signs = np.where(np.arange(base.size) % 2 == 0, 1.0, -1.0)
    line = np.arange(NOISE_POINTS) - NOISE_POINTS // 2
    totals, _ = function(base[:, None] + (NOISE_STEP * _magnitude(base) * signs)[:, None] * line)
    differences = np.diff(totals, NOISE_ORDER)
    return float(np.sqrt(np.mean(differences**2) / NOISE_VARIANCE) + 2.0**-52 * np.abs(totals).max())


def _magnitude(numbers: Floats) -> Floats:
    """The power of two above max(|x|, 1/2), so that small multiples of a tiny part of it are added exactly."""
    return np.asarray(2.0 ** np.frexp(np.maximum(np.abs(numbers), 0.5))[1])
