"""Pooling of windows by mean, maximum or norm, and interpolation between entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.layers.windows import Sliding, stacked

Slices = tuple[slice, ...]
Bounds = Sequence[Sequence[slice]]


def pooled(ops: Operators, x: Any, bounds: Bounds, reduce: Callable[[Any, tuple[int, ...], Slices], Any]) -> Any:
    """Reduce every window of the last axes; ``bounds`` holds, for each of these axes, the slices of the windows."""
    spatial = len(bounds)
    lead = x.shape[: len(x.shape) - spatial]
    axes = tuple(range(len(lead), len(x.shape)))
    before = (slice(None),) * len(lead)
    entries = [reduce(ops.index(x, index=(*before, *window)), axes, window) for window in product(*bounds)]
    return ops.reshape(ops.stack(*entries, axis=len(lead)), shape=(*lead, *map(len, bounds)))


def _windows(x: Any, slidings: Sequence[Sliding], *, ceil: bool) -> Iterator[list[slice]]:
    lengths = stacked(x, len(slidings))[2:]
    for sliding, length in zip(slidings, lengths, strict=True):
        if sliding.padding > sliding.size // 2:
            raise ValueError("the padding is at most half of the window")
        yield [sliding.inside(number, length) for number in range(sliding.count(length, ceil=ceil))]


def max_pool(ops: Operators, x: Any, slidings: Sequence[Sliding], *, ceil: bool) -> Any:
    """Return the largest entry of each window, without the padding."""
    bounds = list(_windows(x, slidings, ceil=ceil))
    return pooled(ops, x, bounds, lambda window, axes, _: ops.max(window, axis=axes))


def average_pool(ops: Operators, x: Any, slidings: Sequence[Sliding], *, ceil: bool, count_include_pad: bool) -> Any:
    """Return the sum of each window over its number of entries, which may include the padding.

    The part of a window that reaches beyond the padding (with ``ceil``) is never counted. Source: PyTorch, the
    documentation of AvgPool2d.
    """
    lengths = x.shape[len(x.shape) - len(slidings) :]
    bounds = list(_windows(x, slidings, ceil=ceil))

    def count(axis: int, number: int) -> int:
        sliding, window = slidings[axis], bounds[axis][number]
        if not count_include_pad:
            return int(window.stop - window.start)
        start = number * sliding.stride - sliding.padding
        return min(start + sliding.size, int(lengths[axis]) + sliding.padding) - start

    sums = pooled(ops, x, bounds, lambda window, axes, _: ops.sum(window, axis=axes))
    counts = [[count(axis, number) for number in range(len(windows))] for axis, windows in enumerate(bounds)]
    return ops.divide(sums, ops.constant(math.prod(np.ix_(*counts))))


def _one(numbers: Mapping[str, Any]) -> list[Sliding]:
    return [Sliding(numbers["size"], numbers["stride"], numbers.get("padding", 0), numbers.get("dilation", 1))]


def _two(numbers: Mapping[str, Any]) -> list[Sliding]:
    dilation = numbers.get("dilation", 1)
    return [
        Sliding(numbers[size], numbers[stride], numbers[padding], dilation)
        for size, stride, padding in (("height", "stride_h", "padding_h"), ("width", "stride_w", "padding_w"))
    ]


def max_pool1d(ops: Operators, x: Any, *, ceil_mode: bool, **numbers: int) -> Any:
    """Return the largest entry of each window of the last axis."""
    return max_pool(ops, x, _one(numbers), ceil=ceil_mode)


def max_pool2d(ops: Operators, x: Any, *, ceil_mode: bool, **numbers: int) -> Any:
    """Return the largest entry of each window of the last two axes."""
    return max_pool(ops, x, _two(numbers), ceil=ceil_mode)


def avg_pool1d(ops: Operators, x: Any, *, ceil_mode: bool, count_include_pad: bool, **numbers: int) -> Any:
    """Return the mean of each window of the last axis."""
    return average_pool(ops, x, _one(numbers), ceil=ceil_mode, count_include_pad=count_include_pad)


def avg_pool2d(ops: Operators, x: Any, *, ceil_mode: bool, count_include_pad: bool, **numbers: int) -> Any:
    """Return the mean of each window of the last two axes."""
    return average_pool(ops, x, _two(numbers), ceil=ceil_mode, count_include_pad=count_include_pad)


def lp_pool1d(ops: Operators, x: Any, *, norm: float, size: int, stride: int) -> Any:
    """Return the p-th root of the sum of p-th powers (p is ``norm``) of each window of the last axis."""
    bounds = list(_windows(x, [Sliding(size, stride)], ceil=False))
    sums = pooled(ops, ops.power(x, norm), bounds, lambda window, axes, _: ops.sum(window, axis=axes))
    return ops.power(sums, 1 / norm)


def _shares(length: int, count: int) -> list[slice]:
    """Return windows that divide an axis as evenly as possible, overlapping where needed."""
    return [slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def adaptive_avg_pool1d(ops: Operators, x: Any, *, size: int) -> Any:
    """Return the means of ``size`` windows that divide the last axis."""
    bounds = [_shares(length, size) for length in stacked(x, 1)[2:]]
    return pooled(ops, x, bounds, lambda window, axes, _: ops.mean(window, axis=axes))


def adaptive_avg_pool2d(ops: Operators, x: Any, *, height: int, width: int) -> Any:
    """Return the means of ``height`` times ``width`` windows that divide the last two axes."""
    bounds = [_shares(*pair) for pair in zip(stacked(x, 2)[2:], (height, width), strict=True)]
    return pooled(ops, x, bounds, lambda window, axes, _: ops.mean(window, axis=axes))


def adaptive_max_pool1d(ops: Operators, x: Any, *, size: int) -> Any:
    """Return the largest entries of ``size`` windows that divide the last axis."""
    bounds = [_shares(length, size) for length in stacked(x, 1)[2:]]
    return pooled(ops, x, bounds, lambda window, axes, _: ops.max(window, axis=axes))


def interpolate_nearest(ops: Operators, x: Any, *, size: int) -> Any:
    """Return the entry floor(i · length / size) of the last axis for each i below ``size``."""
    length = stacked(x, 1)[-1]
    return ops.take(x, axis=len(x.shape) - 1, indices=tuple(i * length // size for i in range(size)))


def interpolate_linear(ops: Operators, x: Any, *, size: int, align_corners: bool) -> Any:
    """Return the linear interpolation of the last axis at ``size`` evenly spaced points.

    With ``align_corners`` the points span the entries from the first to the last. Otherwise each entry is the value at
    the centre of a cell of length one. Source: PyTorch, the documentation of interpolate. The weights are computed by
    operators, so that their rounding errors are tracked.
    """
    length, axis = stacked(x, 1)[-1], len(x.shape) - 1
    points = [_source(i, length, size, align_corners=align_corners) for i in range(size)]
    shift, parts = (Fraction(0), max(1, size - 1)) if align_corners else (Fraction(1, 2), 2 * size)
    lower = [math.floor(point) for point in points]
    upper = [min(i + 1, length - 1) for i in lower]
    shares = ops.constant(np.array([float(parts * (point + shift)) for point in points]))
    weights = ops.subtract(ops.divide(shares, float(parts)), ops.constant(np.array([float(i + shift) for i in lower])))
    rest = ops.subtract(1.0, weights)
    return ops.add(
        ops.multiply(ops.take(x, axis=axis, indices=tuple(lower)), rest),
        ops.multiply(ops.take(x, axis=axis, indices=tuple(upper)), weights),
    )


def _source(number: int, length: int, size: int, *, align_corners: bool) -> Fraction:
    if align_corners:
        return Fraction(number * (length - 1), size - 1) if size > 1 else Fraction(0)
    return max(Fraction(0), Fraction((2 * number + 1) * length, 2 * size) - Fraction(1, 2))


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "max_pool1d": Composite(max_pool1d),
    "max_pool2d": Composite(max_pool2d),
    "avg_pool1d": Composite(avg_pool1d),
    "avg_pool2d": Composite(avg_pool2d),
    "lp_pool1d": Composite(lp_pool1d),
    "adaptive_avg_pool1d": Composite(adaptive_avg_pool1d),
    "adaptive_avg_pool2d": Composite(adaptive_avg_pool2d),
    "adaptive_max_pool1d": Composite(adaptive_max_pool1d),
    "interpolate_nearest": Composite(interpolate_nearest),
    "interpolate_linear": Composite(interpolate_linear),
})
