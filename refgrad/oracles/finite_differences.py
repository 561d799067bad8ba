"""What is the gradient by differences alone, and how far off can that be?

Central differences of the steps h, h/2 and h/4, two Richardson extrapolations (error O(h⁴) each) and their difference as
the estimate of the truncation error; the rounding error is bounded by the size of what was differenced. All perturbations
of all leaves run through one batched evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import BatchedFloat64, evaluate
from refgrad.scenario import Constant, Leaf, Scenario

Floats = npt.NDArray[np.float64]
STEP = 2.0**-9
"""First step, relative to max(|x|, 1/2): truncation O(STEP⁴ / 16) meets rounding O(2⁻⁵³ / STEP) near 1e-13."""

SHRINKING = (1.0, 0.5, 0.25)
ROUNDING_SAFETY = 64.0
TRUNCATION_SAFETY = 4.0
BATCH_BYTES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A gradient by finite differences with an error bound for each entry (infinite where it cannot tell)."""

    value: Floats
    error: Floats


def finite_differences(scenario: Scenario, contributions: tuple[tuple[str, Constant | None], ...]) -> dict[str, Difference]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad."""
    leaves = [leaf for leaf in scenario.leaves if leaf.requires_grad]
    sizes = [leaf.value.to_numpy().size for leaf in leaves]
    total = sum(sizes)
    values, errors = np.zeros(total), np.zeros(total)
    for start in range(0, total, _entries_at_once(total)):
        part = slice(start, min(total, start + _entries_at_once(total)))
        values[part], errors[part] = _differences(scenario, contributions, leaves, np.arange(part.start, part.stop))
    ends = np.cumsum(sizes)
    return {
        leaf.name: Difference(
            values[end - size : end].reshape(leaf.value.shape), errors[end - size : end].reshape(leaf.value.shape)
        )
        for leaf, size, end in zip(leaves, sizes, ends, strict=True)
    }


def _entries_at_once(total: int) -> int:
    return max(1, BATCH_BYTES // (8 * 2 * len(SHRINKING) * max(total, 1)))


def _differences(
    scenario: Scenario, contributions: tuple[tuple[str, Constant | None], ...], leaves: list[Leaf], entries: npt.NDArray[np.intp]
) -> tuple[Floats, Floats]:
    base = np.concatenate([leaf.value.to_numpy().astype(np.float64).ravel() for leaf in leaves])
    steps = STEP * np.maximum(np.abs(base[entries]), 0.5)
    shifts = np.array([sign * factor for factor in SHRINKING for sign in (1.0, -1.0)])
    points = np.repeat(base[:, None], len(entries) * len(shifts), axis=1).reshape(len(base), len(shifts), len(entries))
    points[entries, :, np.arange(len(entries))] += (shifts[:, None] * steps).T
    above, below = points[:, 0::2], points[:, 1::2]
    widths = np.stack([(above - below)[entry, :, i] for i, entry in enumerate(entries)], axis=1)
    totals, scale = _totals(scenario, contributions, leaves, points.reshape(len(base), -1))
    totals = totals.reshape(len(shifts), len(entries))
    with np.errstate(all="ignore"):
        slopes = (totals[0::2] - totals[1::2]) / widths
        coarse, fine = (4 * slopes[1] - slopes[0]) / 3, (4 * slopes[2] - slopes[1]) / 3
        rounding = ROUNDING_SAFETY * 2.0**-53 * scale / widths[2]
        error = TRUNCATION_SAFETY * np.abs(fine - coarse) + rounding
    return fine, np.where(np.isfinite(fine) & np.isfinite(error), error, np.inf)


def _totals(
    scenario: Scenario, contributions: tuple[tuple[str, Constant | None], ...], leaves: list[Leaf], points: Floats
) -> tuple[Floats, float]:
    """Return Σ seed · output at every point, and the size of the largest number that took part."""
    values = evaluate(scenario, BatchedFloat64(_split(leaves, points)))
    totals = np.zeros(points.shape[1])
    for output, seed in contributions:
        array = values[output].stretched(points.shape[1])
        weights = np.ones(array.shape[:-1]) if seed is None else seed.to_numpy().astype(np.float64)
        totals = totals + np.einsum("...,...b->b", weights, array)
    with np.errstate(all="ignore"):
        numbers = [np.abs(v.array).max() for v in values.values() if v.array.dtype == np.float64 and v.array.size]
        seeds = [np.abs(s.to_numpy()).max(initial=0.0) for _, s in contributions if s is not None]
        size = max(map(float, numbers), default=0.0) * max(1.0, sum(map(float, seeds)))
    return totals, size * max(1, points.shape[0])


def _split(leaves: list[Leaf], points: Floats) -> Mapping[str, Floats]:
    split: dict[str, Floats] = {}
    start = 0
    for leaf in leaves:
        size = leaf.value.to_numpy().size
        split[leaf.name] = points[start : start + size].reshape(*leaf.value.shape, points.shape[1])
        start += size
    return split
