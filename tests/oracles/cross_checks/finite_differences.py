"""Gradients of scenarios by finite differences alone, with an error bound for each entry.

All perturbations of all leaves run through batched evaluations of bounded size. Which choices were made at each point
is known, so a stencil that reaches across a kink is never used; an entry on a kink has an infinite error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import evaluate, expanded
from refgrad.oracles.slopes.curves import (
    NOISE_LINE,
    BoundedSlopes,
    Floats,
    Line,
    Positions,
    Samples,
    difference_tables,
    finite,
    table_noise_at_kinks,
)
from refgrad.oracles.slopes.slopes import SCALES, central_slopes, promising
from refgrad.scenario import Apply, Constant, Leaf, Scenario
from refgrad.scenario.rewrite import needed
from tests.interpreter.batched import Batch, BatchedFloat64
from tests.interpreter.complex128 import BatchedComplex128
from tests.interpreter.complex_array import ComplexArray, Shaking
from tests.oracles.cross_checks.branches import patterns
from tests.oracles.cross_checks.one_sided import ChosenSamples, Pattern, crossing, slopes_on_sides

Contributions = tuple[tuple[str, Constant | None], ...]

SCALE = SCALES["float64"]
STEPS = (2.0**-7, 2.0**-12, 2.0**-17, 2.0**-22)
"""First steps, relative to max(|x|, 1/2): at 2⁻⁷ the truncation O(h⁶) meets the rounding O(2⁻⁵³ / h) near 1e-13."""

CLOSER_STEPS = (1.75 * 2.0**-27, 2.0**-32, 2.0**-37)
"""Steps of the same for entries that the others left untold, as close to a kink or the border of a domain."""

OWN_STEPS = (2.0**-9, 2.0**-14)
"""Steps for these entries relative to |x| itself: near 0 a logarithm bends at the distance |x|."""

ZERO_STEPS = (2.0**-50, 2.0**-150, 2.0**-400)
"""Steps to either side of zero, where ever smaller ones are exact: those of x ** 1.2 have to be."""

SHAKINGS = 8
"""How often the function is evaluated with every operation shaken, to see its noise without moving the leaves.

Near a singularity a table of differences takes for noise what is none, and on a border there is no table.
"""

SECOND_SMALLEST_OF_EIGHT = 0.25
"""Of normal variables, relative to the deviation. On a jump every other shaking is off by the jump's height."""

SHAKINGS_OF_SAMPLES = 4
"""The same for each point to one side."""

BATCH_BYTES = 2**20
POINTS = 8
"""Points of a curve that are taken at once, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A gradient by finite differences with an error bound for each entry.

    The bound is infinite where nothing can be told: across a kink or a jump, or outside of the domain.
    """

    value: Floats
    error: Floats


def finite_differences(scenario: Scenario, contributions: Contributions) -> dict[str, Difference]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad.

    Raises ScenarioEvaluationError where shapes do not fit.
    """
    function = _Function(expanded(scenario), contributions)
    with np.errstate(all="ignore"):
        entries = _Entries(function)
        found = _search(entries, function.base)
    values = function.split(found.value)
    errors = function.split(np.where(found.kink, np.inf, found.error))
    return {name: Difference(values[name], errors[name]) for name in values}


def _search(entries: _Entries, base: Floats) -> BoundedSlopes:
    """Try every step on the entries that are still uncertain, the most promising first."""
    whole = _magnitude(base)
    first = [step * whole for step in STEPS]
    found = central_slopes(entries, first)
    if promising(SCALE.unit * np.abs(entries.here), first[-1], found).size:
        entries.shake()
        own = (step * np.where(base == 0, np.nan, _power_above(base)) for step in OWN_STEPS)
        closer = [*(step * whole for step in CLOSER_STEPS), *(np.where(s < first[-1], s, np.nan) for s in own)]
        found = central_slopes(entries, first + closer, found)
    zero = [np.where(base == 0, step, np.nan) for step in ZERO_STEPS]
    return slopes_on_sides(entries, first + zero, found)


class _Entries(Line):
    """A function along each entry of its leaves, as curves."""

    unit = SCALE.unit

    def __init__(self, function: _Function) -> None:
        self.function = function
        base = function.base
        direction = _magnitude(base) * np.where(np.arange(base.size) % 2 == 0, 1.0, -1.0)
        line = np.multiply.outer(NOISE_LINE, SCALE.noise_steps)
        totals, taken = function(base[:, None] + np.multiply.outer(direction, line.ravel()))
        codes = tuple(pattern.reshape(-1, *line.shape) for pattern in taken)
        samples = ChosenSamples(totals.reshape(line.shape), line, codes)
        self.here = np.full(base.size, samples.values[len(NOISE_LINE) // 2, 0])
        self.batch = max(1, BATCH_BYTES // (8 * POINTS * max(base.size, 1)))
        smooth = np.min([np.sqrt(np.mean(table**2, axis=0)) for table in difference_tables(samples.values)], axis=0)
        table = np.where(crossing(samples), table_noise_at_kinks(samples.values, 1), smooth)
        self.deviation = finite(table).max() + 2 * self.unit * np.abs(self.here)
        if not np.isfinite(table).any():
            self.shake()

    def shake(self) -> None:
        """Find the noise by shaking every operation, without moving the leaves far."""
        moves = np.abs(self.function.shaken(self.function.base[:, None], SHAKINGS)[:, 0] - self.here[:1])
        typical = np.sort(moves)[1] / SECOND_SMALLEST_OF_EIGHT
        deviation = typical + 2 * self.unit * np.abs(self.here)
        self.deviation = np.where(np.isfinite(deviation), deviation, np.inf)

    def sample(self, indices: Positions, distances: Floats) -> Samples:
        """Return the function with one entry moved at a time, and NaN for entries along which a choice changes."""
        parts = []
        for start in range(0, len(indices), self.batch):
            batch = slice(start, start + self.batch)
            samples = self.choices(indices[batch], distances[:, batch])
            parts.append((np.where(crossing(samples), np.nan, samples.values), samples.distances))
        values, moved = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
        return Samples(values, moved)

    def choices(self, places: Positions, distances: Floats) -> ChosenSamples:
        """Return the function with one entry moved at a time, and its choices."""
        points = self._points(places, distances)
        moved = points[places, :, np.arange(len(places))].T - self.function.base[places]
        totals, taken = self.function(points.reshape(len(points), -1))
        codes = tuple(pattern.reshape(-1, *distances.shape) for pattern in taken)
        return ChosenSamples(totals.reshape(distances.shape), moved, codes)

    def noise(self, indices: Positions, samples: Samples) -> Floats:
        """Return the noise of each sample by shaking every operation."""
        points = self._points(indices, samples.distances).reshape(self.here.size, -1)
        moves = self.function.shaken(points, SHAKINGS_OF_SAMPLES).reshape(-1, *samples.values.shape) - samples.values
        deviations = np.sqrt(np.mean(moves**2, axis=0)) + 2 * self.unit * np.abs(samples.values)
        return np.where(np.isfinite(deviations), deviations, np.inf)

    def _points(self, places: Positions, distances: Floats) -> Floats:
        base = self.function.base
        points = np.repeat(base[:, None], distances.size, axis=1).reshape(-1, *distances.shape)
        points[places, :, np.arange(len(places))] += distances.T
        return points


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
        outputs = {output for output, _ in contributions}
        steps = needed(scenario.steps, outputs)  # a kink elsewhere is no obstacle
        self.path = tuple(step for step in steps if isinstance(step, Apply))

    def __call__(self, points: Floats) -> tuple[Floats, list[Pattern]]:
        """Return the function at every column of ``points``, and the branches that were taken there."""
        values = evaluate(self.scenario, BatchedFloat64(self.split(points)))
        return self._total(values, points.shape[1]), [code for step in self.path for code in patterns(step, values)]

    def shaken(self, points: Floats, times: int) -> Floats:
        """Return the function at some points several times (first axis), with every operation shaken.

        The leaves that do not vary are repeated too: what depends on them alone is shaken each time anew.
        """
        repeated = np.tile(points, times)
        count = repeated.shape[1]
        others = {
            leaf.name: np.repeat(leaf.value.to_numpy().astype(np.float64)[..., None], count, axis=-1)
            for leaf in self.scenario.leaves
            if leaf.value.dtype != "bool"
        }
        shaking = Shaking(np.random.default_rng(0))
        shaken = evaluate(self.scenario, BatchedComplex128(others | dict(self.split(repeated)), shaking))
        return self._total(shaken, count, shaking).reshape(times, -1)

    def _total(self, values: Mapping[str, Batch], count: int, shaking: Shaking | None = None) -> Floats:
        total: npt.NDArray[Any] = ComplexArray.of(np.zeros(count), shaking)
        for output, seed in self.contributions:
            array = ComplexArray.of(values[output].stretched(count).reshape(-1, count), shaking)
            weights = np.ones(len(array)) if seed is None else seed.to_numpy().astype(np.float64).ravel()
            total = total + weights @ array
        return np.asarray(total)

    def split(self, array: Floats) -> Mapping[str, Floats]:
        """Return the part of each leaf, in the leaf's shape; further axes stay behind."""
        ends = np.cumsum([leaf.value.size for leaf in self.leaves])
        return {
            leaf.name: array[end - leaf.value.size : end].reshape((*leaf.value.shape, *array.shape[1:]))
            for leaf, end in zip(self.leaves, ends, strict=True)
        }


def _magnitude(numbers: Floats) -> Floats:
    """The power of two above max(|x|, 1/2), so that small multiples of a tiny part of it are added exactly."""
    return _power_above(np.maximum(np.abs(numbers), 0.5))


def _power_above(numbers: Floats) -> Floats:
    return np.asarray(2.0 ** np.frexp(np.abs(numbers))[1])
