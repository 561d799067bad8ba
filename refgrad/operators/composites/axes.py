"""Composites along an axis: order and ranks, scans, slices, and statistics.

Neighbours are compared and exchanged by minimum and maximum until all are in order, so that the steps do not depend on
the entries (D. E. Knuth, The Art of Computer Programming 3, 5.3.4).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import floor, prod, sqrt
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from refgrad.operators.operator import Operators, require
from refgrad.operators.structures import Axes, kept_shape, reduced_axes, size_along


def ordered(ops: Operators, x: Any, axis: int, least: int = 0) -> list[Any]:
    """Return the slices along an axis, with entries sorted in increasing order across the slices.

    Raises ValueError for fewer than ``least`` slices.
    """
    parts = slices(ops, x, axis)
    for last in range(len(parts) - 1, 0, -1):
        for index in range(last):
            low, high = parts[index], parts[index + 1]
            parts[index], parts[index + 1] = ops.minimum(low, high), ops.maximum(low, high)
    require(len(parts) >= least, f"there are no {least} entries among {len(parts)}")
    return parts


def require_entries(x: Any) -> Any:
    """Return ``x``. Raises ValueError for an array without entries, which ``torch.quantile`` rejects too."""
    require(0 not in x.shape, "there is no quantile of no entries")
    return x


def sort(ops: Operators, x: Any, *, axis: int, descending: bool) -> Any:
    """Sort the entries along an axis in increasing or decreasing order."""
    parts = ordered(ops, x, axis)
    return ops.stack(*(parts[::-1] if descending else parts), axis=axis_of(x, axis)) if parts else x


def topk(ops: Operators, x: Any, *, k: int, axis: int, largest: bool) -> Any:
    """Return the ``k`` largest or smallest entries of an axis, the most extreme first."""
    parts = ordered(ops, x, axis, k)
    return ops.stack(*(parts[::-1] if largest else parts)[:k], axis=axis_of(x, axis))


def kthvalue(ops: Operators, x: Any, *, k: int, axis: int, keepdims: bool) -> Any:
    """Return the ``k``-th smallest entry of an axis, counted from 1."""
    parts = ordered(ops, x, axis, k)
    return _reduced(ops, x, parts[k - 1], axis, keepdims=keepdims)


def quantile(ops: Operators, x: Any, *, q: float, axis: int, keepdims: bool) -> Any:
    """Return the ``q``-quantile along an axis, with linear interpolation between neighbours.

    The weight is computed by operators, so that its rounding error is tracked.
    """
    parts = ordered(ops, require_entries(x), axis)
    rank = q * (len(parts) - 1)
    low = floor(rank)
    result = parts[low]
    if rank > low:
        weight = ops.subtract(ops.multiply(ops.constant(np.array(q)), float(len(parts) - 1)), float(low))
        result = ops.add(result, ops.multiply(weight, ops.subtract(parts[low + 1], result)))
    return _reduced(ops, x, result, axis, keepdims=keepdims)


def median(ops: Operators, x: Any, *, axis: int, keepdims: bool) -> Any:
    """Return the median along an axis: the middle entry in order, or the mean of the two middle ones."""
    parts = ordered(ops, require_entries(x), axis)
    low, high = parts[(len(parts) - 1) // 2], parts[len(parts) // 2]
    result = low if low is high else ops.divide(ops.add(low, high), 2.0)
    return _reduced(ops, x, result, axis, keepdims=keepdims)


def lower_median(ops: Operators, x: Any, *, axis: int, keepdims: bool) -> Any:
    """Return the lower median along an axis: the middle entry in order, or the smaller of the two middle ones."""
    parts = ordered(ops, x, axis)
    require(len(parts) > 0, "there is no median of no entries")
    return _reduced(ops, x, parts[(len(parts) - 1) // 2], axis, keepdims=keepdims)


def times_index(*, largest: bool) -> Callable[..., Any]:
    """Return the function that multiplies ``x`` by the argmax or argmin along an axis, or of the flattened array."""

    def multiplied(ops: Operators, x: Any, *, axis: int | None) -> Any:
        flat = ops.reshape(x, shape=(prod(x.shape),)) if axis is None else x
        parts = slices(ops, flat, axis or 0)
        require(len(parts) > 0, "there is no index of an extremum of no entries")
        index = _extreme_index(ops, parts, descending=largest)
        return ops.multiply(x, index if axis is None else ops.expand_dims(index, axis=axis_of(x, axis)))

    return multiplied


def _extreme_index(ops: Operators, parts: list[Any], *, descending: bool) -> Any:
    """Return the index of the first extreme entry, updated part by part by steps whose derivative is zero."""
    best, index = parts[0], ops.constant(np.zeros(parts[0].shape))
    for number, part in enumerate(parts[1:], 1):
        ahead = ops.sign(ops.subtract(part, best) if descending else ops.subtract(best, part))
        # 1 if the part is more extreme, else 0, also in a tie
        moves = ops.floor(ops.add(ops.multiply(ahead, 0.5), 0.75))
        index = ops.add(index, ops.multiply(moves, ops.subtract(number, index)))
        best = ops.maximum(best, part) if descending else ops.minimum(best, part)
    return index


times_argmax, times_argmin = times_index(largest=True), times_index(largest=False)


def _reduced(ops: Operators, x: Any, result: Any, axis: int, *, keepdims: bool) -> Any:
    return ops.expand_dims(result, axis=axis_of(x, axis)) if keepdims else result


def scan(step: str) -> Callable[..., Any]:
    """Return the function that accumulates the entries along an axis with a binary operator."""

    def scanned(ops: Operators, x: Any, *, axis: int) -> Any:
        parts = list(accumulate(slices(ops, x, axis), getattr(ops, step)))
        return ops.stack(*parts, axis=axis_of(x, axis)) if parts else x

    return scanned


cumsum, cummax, cummin = scan("add"), scan("maximum"), scan("minimum")


def diff(ops: Operators, x: Any, *, n: int, axis: int) -> Any:
    """Return the ``n``-th differences of neighbours along an axis; an axis with too few entries becomes empty."""
    for _ in range(n):
        length = length_along(x, axis)
        x = ops.subtract(stretch(ops, x, axis, 1, length), stretch(ops, x, axis, 0, max(length - 1, 0)))
    return x


def trapezoid(ops: Operators, y: Any, x: Any, *, axis: int) -> Any:
    """Return the integral of ``y`` over ``x`` by the trapezoidal rule.

    Raises ValueError for an axis without entries. NumPy and PyTorch return zeros there, but PyTorch does not record
    them in the graph.
    """
    length = length_along(y, axis)
    require(length > 0, "there is no integral over no points")
    heights = ops.add(stretch(ops, y, axis, 1, length), stretch(ops, y, axis, 0, length - 1))
    return ops.sum(ops.divide(ops.multiply(diff(ops, x, n=1, axis=axis), heights), 2.0), axis=axis)


def axis_of(x: Any, axis: int) -> int:
    """Return the axis as a non-negative number. Raises numpy's AxisError, a ValueError, if ``x`` does not have it."""
    return normalize_axis_index(axis, len(x.shape))


def length_along(x: Any, axis: int) -> int:
    """Return the length of ``x`` along an axis. Raises ValueError if ``x`` does not have the axis."""
    length: int = x.shape[axis_of(x, axis)]
    return length


def stretch(ops: Operators, x: Any, axis: int, start: int, stop: int) -> Any:
    """Return the entries of an axis from ``start`` to ``stop`` (exclusive); the axis is kept."""
    return ops.index(x, index=(*(slice(None),) * axis_of(x, axis), slice(start, stop)))


def slices(ops: Operators, x: Any, axis: int) -> list[Any]:
    """Return the slice at each index of an axis, without the axis."""
    before = (slice(None),) * axis_of(x, axis)
    return [ops.index(x, index=(*before, position)) for position in range(length_along(x, axis))]


def gathered(ops: Operators, x: Any, axis: Axes) -> Any:
    """Return ``x`` with the axes ``axis`` merged into one last axis."""
    axes = reduced_axes(axis, len(x.shape))
    rest = tuple(i for i in range(len(x.shape)) if i not in axes)
    moved = ops.transpose(x, axes=(*rest, *axes))
    return ops.reshape(moved, shape=(*(x.shape[i] for i in rest), size_along(x.shape, axis)))


def centred(ops: Operators, x: Any, axis: Axes) -> Any:
    """Return ``x`` minus its mean along the axes."""
    return ops.subtract(x, ops.mean(x, axis=axis, keepdims=True))


def freedom(x: Any, axis: Axes, correction: int) -> int:
    """Return the divisor of a variance. Raises ValueError if it is not positive."""
    count = size_along(x.shape, axis)
    require(count > correction, f"the variance of {count} entries is not defined with a correction {correction}")
    return count - correction


def var(ops: Operators, x: Any, *, axis: Axes, correction: int, keepdims: bool) -> Any:
    """Return the sum of squared deviations from the mean, divided by their number minus ``correction``."""
    squares = ops.square(centred(ops, x, axis))
    return ops.divide(ops.sum(squares, axis=axis, keepdims=keepdims), freedom(x, axis, correction))


def std(ops: Operators, x: Any, *, axis: Axes, correction: int, keepdims: bool) -> Any:
    """Return the square root of the variance, by the norm of the deviations, which has a kink where all are 0."""
    length = l2_norm(ops, centred(ops, x, axis), axis=axis, keepdims=keepdims)
    return ops.divide(length, sqrt(freedom(x, axis, correction)))


def certified_logsumexp(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the logarithm of the sum of exponentials."""
    return ops.log(ops.sum(ops.exp(x), axis=axis, keepdims=keepdims))


def logsumexp(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the logarithm of the sum of exponentials, with the largest entry subtracted before and added after."""
    largest = ops.max(x, axis=axis, keepdims=True)
    rest = ops.log(ops.sum(ops.exp(ops.subtract(x, largest)), axis=axis, keepdims=True))
    total = ops.add(rest, largest)
    return total if keepdims else ops.reshape(total, shape=ops.sum(x, axis=axis).shape)


def l1_norm(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the sum of absolute values."""
    return ops.sum(ops.abs(x), axis=axis, keepdims=keepdims)


def l2_norm(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the Euclidean norm, accumulated over the coordinates by ``hypot``; 0 without coordinates."""
    flat = gathered(ops, x, axis)
    if flat.shape[-1] == 0:
        length = ops.sum(flat, axis=-1)
    else:
        first, *others = slices(ops, flat, -1)
        length = ops.abs(first) if not others else first
        for other in others:
            length = ops.hypot(length, other)
    return ops.reshape(length, shape=kept_shape(x.shape, axis)) if keepdims else length


def max_norm(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the largest absolute value."""
    return ops.max(ops.abs(x), axis=axis, keepdims=keepdims)


def vector_norm(ops: Operators, x: Any, *, order: float, axis: Axes, keepdims: bool) -> Any:
    """Return the ``order``-th root of the sum of absolute values to the power ``order``."""
    total = ops.sum(ops.power(ops.abs(x), order), axis=axis, keepdims=keepdims)
    return ops.power(total, 1 / order)


def ptp(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the largest entry minus the smallest."""
    return ops.subtract(ops.max(x, axis=axis, keepdims=keepdims), ops.min(x, axis=axis, keepdims=keepdims))


def average(ops: Operators, x: Any, weights: Any, *, axis: Axes) -> Any:
    """Return the weighted mean, with weights divided by their sum."""
    return ops.divide(ops.sum(ops.multiply(x, weights), axis=axis), ops.sum(weights, axis=axis))


def cov(ops: Operators, x: Any, *, correction: int) -> Any:
    """Return the covariances of the rows of a matrix, whose columns are observations; a scalar for one row."""
    deviations = centred(ops, x, 1)
    products = ops.matmul(deviations, ops.transpose(deviations))
    return ops.divide(ops.reshape(products, shape=_squared(x)), freedom(x, 1, correction))


def _squared(x: Any) -> tuple[int, ...]:
    return () if x.shape[0] == 1 else (x.shape[0], x.shape[0])


def corrcoef(ops: Operators, x: Any) -> Any:
    """Return the correlations of the rows of a matrix: covariances divided by both standard deviations."""
    count = x.shape[0]
    indices = tuple(range(count))
    covariances = ops.reshape(cov(ops, x, correction=1), shape=(count, count))
    deviations = ops.sqrt(ops.index(covariances, index=(indices, indices)))
    rows = ops.divide(covariances, ops.reshape(deviations, shape=(count, 1)))
    return ops.reshape(ops.divide(rows, deviations), shape=_squared(x))


def prefixes(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that reduces each prefix of an axis separately."""

    def reduced(ops: Operators, x: Any, *, axis: int) -> Any:
        lengths = range(1, length_along(x, axis) + 1)
        parts = [reduction(ops, stretch(ops, x, axis, 0, length), axis=axis, keepdims=False) for length in lengths]
        return ops.stack(*parts, axis=axis_of(x, axis)) if parts else x

    return reduced


certified_logcumsumexp, logcumsumexp = map(prefixes, (certified_logsumexp, logsumexp))
cumprod = prefixes(lambda ops, part, **options: ops.prod(part, **options))
"""Products of the entries up to each index. The rounding budget of ``prod`` allows that engines divide by a factor."""
