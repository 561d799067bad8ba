"""Comparison of all entries of a gradient of low precision with the truth at once.

The bound of an entry allows for the rounding of every operator. Errors of that size in *all* entries, in one direction,
are no rounding: roundings are independent, so their weighted sum is far below the sum of their bounds. A contrast is
such a sum: the slope of the errors e = observed - truth along a regressor p, with weights w = 1 / scale²,

    d = sum(w p e) / sum(w p²),

over all entries, or over those of each row, column, head or block. With p = truth, d is a relative error of scale; with
p = 1 it shows a missing mean, and with p = an input, an output or a cotangent, a missing term of rank one.

The standard error of d is that of simulated roundings: ``errors`` holds the errors of runs of the function in which
every rounded result is rounded anew. It follows Student's t with one degree of freedom per run. Results with few
entries, such as the inverse deviations of some rows, or one factor for all, are common to many entries, so chance does
not average them out: their largest effect is allowed in full. With q = the quantile of Student's t for a share of
``false_alarms`` (Holm, A simple sequentially rejective multiple test procedure, 1979; the first step decides whether
there is any finding), rounding explains |d| <= allowed + q · error.

Rounding inside of operators and opaque kernels is not simulated. If the median size r of the residuals exceeds the mean
size m of the simulated errors, such hidden roundings explain the excess: the standard error is multiplied by r / m, and
hidden errors of the deviation √(r² - m²) / 0.67 in scales are added. The scales include what is lost in differences of
larger numbers, of which the simulation moves only the result. Entries of the truth that are rounded to the same number
lose their differences, which is allowed in full. If more than the last rounding of the backward is seen,
the deviation is at least ``hidden`` scales, since sums inside of its operators may be rounded, too. Equal entries of
the truth have equal hidden errors, as under a cotangent of ones, so these do not average out.

n entries leave open how large hidden roundings are, since the median of n sizes has a relative standard error of
1.17 / √n. So a contrast is a finding if |d| exceeds what rounding explains by the factor 1 + gap / √n, and inconclusive
below. Here n is the effective number of independent entries of the group: the square of the ratio of the effect of
hidden errors that are all equal to the effect of independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from scipy import special

from refgrad.checking.libraries.trees import Array
from refgrad.documents import parsed_toml
from refgrad.scenario.formats import FORMATS, Format
from refgrad.specification import shipped_path

NUMBERS: Final[Any] = SimpleNamespace(**parsed_toml(shipped_path("numbers", "low_precision.toml")))
"""Chosen numbers of ``specs/numbers/low_precision.toml``, which describes them."""

SINGLE: Final = NUMBERS.roundings * FORMATS["float32"].unit / FORMATS["float16"].unit
"""Common error, in scales of float16, that roundings in float32 explain."""


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """The observed and the true gradient of one input, and what rounding explains.

    ``scale`` is the standard deviation of each entry's rounding error by the budget. ``errors`` holds rounding errors
    of simulated runs along its first axis. Each of ``shared`` has the number of entries of a result
    with few of them, and the effects of rounding these as far as possible in certain combinations of directions.
    ``unit`` is the unit roundoff of the coarsest format of the function. ``seen`` is True if the backward shows more
    roundings than the last.
    """

    observed: Array
    truth: Array
    scale: Array
    errors: Array
    shared: Sequence[tuple[int, Array]]
    form: Format
    unit: float
    seen: bool = True

    @property
    def invalid(self) -> Array:
        """Mask of entries that are not finite but should be, or not zero although the truth is whatever is rounded."""
        size = np.abs(self.truth)
        negligible = 4 * self.form.unit * np.max(size, initial=0.0, where=np.isfinite(size)) + self.form.underflow
        unexpected = (size == 0) & (self.scale == 0) & (np.abs(self.observed) > negligible)
        return np.asarray(unexpected | (~np.isfinite(self.observed) & (size <= self.form.largest / 4)))

    @property
    def weights(self) -> Array:
        """Weights of the entries: zero for underflowed, saturated and unknown ones."""
        size, numbers = np.abs(self.truth), (self.truth, self.observed, self.scale, *self.errors)
        known = np.logical_and.reduce([np.isfinite(each) for each in numbers])
        known &= (size >= 2 * self.form.smallest_normal) & (size <= self.form.largest / 2)
        typical = math.sqrt(float(np.mean(np.square(self.truth[known])))) if known.any() else 0.0
        scale = np.hypot(self.scale, NUMBERS.floor * max(self.form.unit, self.unit) * typical)
        return np.where(known & (scale > 0), 1 / np.square(np.where(known & (scale > 0), scale, 1.0)), 0.0)


@dataclass(frozen=True, slots=True)
class Contrast:
    """The slope of the errors along a regressor in one group of entries, and what rounding explains of it.

    ``axes`` are those that a group extends along and ``index`` is the position of the group along the others.
    ``entries`` is the effective number of independent entries. ``reduction`` is the part of the sum of squared errors
    that the slope explains.
    """

    regressor: str
    axes: tuple[int, ...]
    index: tuple[int, ...]
    runs: int
    slope: float
    allowed: float
    error: float
    entries: float
    reduction: float

    def limit(self, count: int) -> float:
        """Return the largest slope that rounding explains in any of ``count`` contrasts."""
        return self.allowed + student_quantile(NUMBERS.false_alarms / count, self.runs) * self.error

    def wrong_above(self, count: int) -> float:
        """Return the slope above which the gradient is wrong if ``count`` contrasts are tried."""
        return self.limit(count) * float(1 + NUMBERS.gap / math.sqrt(self.entries))

    def detectable(self, count: int) -> float:
        """Return the smallest slope that is detected with the probability ``power``, with ``count`` contrasts."""
        return self.wrong_above(count) + float(special.ndtri(NUMBERS.power)) * self.error


def normal_quantile(probability: float) -> float:
    """Return the number that a standard normal variable exceeds in magnitude with a small probability."""
    return -float(special.ndtri(probability / 2))


def student_quantile(probability: float, degrees: int) -> float:
    """Return the number that a variable with Student's t distribution exceeds in magnitude with a small probability."""
    return -float(special.stdtrit(degrees, probability / 2))


def groupings(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the sets of axes along which groups of entries extend: all, each one, and all but each one."""
    axes = tuple(axis for axis, length in enumerate(shape) if length > 1)
    singles = [(axis,) for axis in axes] if len(axes) > 1 else []
    others = [tuple(a for a in axes if a != axis) for axis in axes] if len(axes) > 2 else []  # noqa: PLR2004 (else the same)
    return [axes, *singles, *others]


def contrasts(data: Errors, regressors: Mapping[str, Array]) -> Iterator[Contrast]:
    """Yield the contrasts of all groups along the truth and along other regressors of its shape."""
    weights, roots = data.weights, np.sqrt(data.weights)
    known = weights > 0
    truth, errors = np.where(known, data.truth, 0.0), np.where(known, data.observed - data.truth, 0.0)
    simulated, scale = np.where(known, data.errors, 0.0), 1 / np.where(known, roots, 1.0)
    merged = (1, _merged(data, known)[None])
    shared = [(count, np.where(known, effects, 0.0)) for count, effects in (*data.shared, merged)]
    alike = scale * _signs(data)
    typical = float(np.mean(np.abs(simulated[:, known]) * roots[known])) if known.any() else 0.0
    for axes, (name, regressor) in product(groupings(truth.shape), {"scale": truth, **regressors}.items()):
        weighted = weights * regressor
        total = np.sum(weighted * regressor, axis=axes, keepdims=True)
        counts = np.count_nonzero(weighted, axis=axes, keepdims=True)
        valid = (total > 0) & (counts >= (1 if total.size == 1 else NUMBERS.fewest))
        if not valid.any() or valid.size > NUMBERS.most_groups:
            continue

        def slopes(array: Array, weighted: Array = weighted, total: Array = total, axes: Any = axes) -> Array:
            sums = np.sum(weighted * array, axis=tuple(a + 1 for a in axes), keepdims=True)
            return np.asarray(sums / np.where(total > 0, total, 1.0))

        (slope,) = slopes(errors[None])
        residual = float(np.median((np.abs(errors - slope * regressor) * roots)[known]))
        ratio = residual / typical if typical else 1.0
        spread = np.sqrt(np.mean(np.square(slopes(simulated)), axis=0))
        (equal,) = slopes(np.copysign(scale, regressor)[None])
        independent = np.sqrt(np.mean(np.square(slopes(alike)), axis=0))
        excess = math.sqrt(max(0.0, residual**2 - typical**2)) / special.ndtri(3 / 4)
        hidden = max(excess, NUMBERS.hidden if data.seen else 0.0)
        spread = np.maximum(max(1.0, ratio) * spread, np.hypot(spread, hidden * independent))
        apart = np.divide(equal, independent, out=np.asarray(np.sqrt(counts)), where=independent > 0)
        entries = np.clip(np.square(apart), 1, np.maximum(counts, 1))
        unseen = residual > NUMBERS.unseen[data.seen] * max(typical, SINGLE)
        common = 2.0 if unseen else max(SINGLE, data.unit)
        common = NUMBERS.noise if not data.seen and data.form == FORMATS["float16"] else common
        allowed = sum((_largest(count, slopes(effects)) for count, effects in shared), common * equal)
        columns = (each[valid].tolist() for each in (slope, allowed, spread, entries, np.square(slope) * total))
        for position, *numbers in zip(np.argwhere(valid).tolist(), *columns, strict=True):
            index = tuple(i for axis, i in enumerate(position) if axis not in axes)
            yield Contrast(name, axes, index if total.size > 1 else (), len(simulated), *numbers)


def _signs(data: Errors) -> Array:
    """Return random signs for as many runs as there are simulated ones, the same for entries whose truth is equal."""
    values, which = np.unique(data.truth.astype(np.float32), return_inverse=True)
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (len(data.errors), values.size))
    return np.asarray(signs[:, which.reshape(data.truth.shape)])


def _merged(data: Errors, known: Array) -> Array:
    """Return how far the truth of each entry is from the mean of those that were rounded to the same number."""
    _, which = np.unique(data.observed, return_inverse=True)
    truth, cells = np.where(known, data.truth, data.observed), which.reshape(data.truth.shape)
    means = np.bincount(cells.ravel(), truth.ravel()) / np.maximum(np.bincount(cells.ravel()), 1)
    reach = 2 * data.form.unit * np.abs(data.observed)
    return np.clip(truth - means[cells], -reach, reach)


def _largest(count: int, slopes: Array) -> Array:
    """Return the largest effect of ``count`` roundings, given the effects of orthogonal combinations of them.

    The first combination has one sign. By the inequality of Cauchy and Schwarz the sum of the magnitudes of the effects
    is at most the root of their number times their norm, which is the root mean square over the combinations.
    """
    return np.asarray(np.maximum(np.abs(slopes[0]), np.sqrt(count * np.mean(np.square(slopes), axis=0))))


def noise(data: Errors) -> tuple[float, Array]:
    """Return the root mean square of the errors in scales, and the error of each entry in scales.

    The scale is that of the budget or that of the simulated errors, whichever is larger: the function may compute
    differences that its trace does not have. The effects of results with few entries are among the simulated ones.
    """
    weights = data.weights
    known = weights > 0
    effects = (data.errors, *(each for _, each in data.shared))
    simulated = np.sqrt(sum(np.mean(np.square(np.where(known, each, 0.0)), axis=0) for each in effects))
    scale = np.maximum(1 / np.sqrt(np.where(known, weights, 1.0)), simulated)
    ratios = np.where(known, np.abs(data.observed - data.truth), 0.0) / scale
    return math.sqrt(float(np.sum(np.square(ratios))) / max(1, int(np.count_nonzero(weights)))), ratios


def first_finding(contrasts: Sequence[Contrast], limit: Callable[[Contrast, int], float]) -> Contrast | None:
    """Return the contrast with the largest reduction of errors among those with a slope above a limit, or None.

    With the limit of what rounding explains, that is the first step of Holm's procedure, which decides whether there is
    any finding.
    """
    significant = (each for each in contrasts if abs(each.slope) > limit(each, len(contrasts)))
    return max(significant, key=lambda each: each.reduction, default=None)
