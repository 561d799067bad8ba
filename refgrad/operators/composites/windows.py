"""Composites over sliding windows: convolutions, unfolding, and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from refgrad.operators.operator import Operators, refuse_size, require


@dataclass(frozen=True, slots=True)
class Sliding:
    """A window of ``size`` entries that slides along one axis.

    ``output_padding`` lengthens the output of a transposed convolution at its end. Raises ValueError for strides and
    dilations below one, and paddings below zero.
    """

    size: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    output_padding: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for a stride or dilation below one, or a negative padding."""
        valid = min(self.stride, self.dilation) >= 1 and min(self.padding, self.output_padding) >= 0
        require(valid, f"a stride and a dilation are at least 1, and paddings are at least 0: {self}")

    @property
    def extent(self) -> int:
        """Number of entries that a window spans, including gaps."""
        return self.dilation * (self.size - 1) + 1

    def count(self, length: int, *, ceil: bool = False) -> int:
        """Return the number of windows on an axis of ``length`` entries.

        With ``ceil``, the last window may reach beyond the padding, but has to begin before the padding at the end.
        Source: PyTorch, the documentation of Conv1d and of MaxPool1d. Raises ValueError if no window fits.
        """
        room = length + 2 * self.padding - self.extent
        require(room >= 0 and min(length, self.size) > 0, f"no window of {self.extent} fits into {length} entries")
        if not ceil:
            return room // self.stride + 1
        count = -(-room // self.stride) + 1
        return count - 1 if (count - 1) * self.stride >= length + self.padding else count

    def indices(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Return the indices of each window's entries in the padded array."""
        refuse_size(count * self.size)
        return tuple(tuple(i * self.stride + k * self.dilation for k in range(self.size)) for i in range(count))

    def inside(self, number: int, length: int) -> slice:
        """Return the slice of the array without padding that the window ``number`` covers."""
        start = number * self.stride - self.padding
        stop = min(start + self.extent, length)
        return slice(start + -(min(start, 0) // self.dilation) * self.dilation, stop, self.dilation)


def padded(ops: Operators, x: Any, axis: int, before: int, after: int) -> Any:
    """Add zeros before and after the entries of an axis."""
    ends = [ops.constant(np.zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]))) for n in (before, after)]
    parts = [part for part in (ends[0], x, ends[1]) if part.shape[axis]]
    return ops.concatenate(*parts, axis=axis) if len(parts) > 1 else x


def windowed(ops: Operators, x: Any, slidings: Sequence[Sliding]) -> Any:
    """Return the windows of the last axes; each of these axes is replaced by two, windows and their entries."""
    first = len(x.shape) - len(slidings)
    for number, sliding in enumerate(slidings):
        axis = first + 2 * number
        count = sliding.count(x.shape[axis])
        x = padded(ops, x, axis, sliding.padding, sliding.padding)
        x = ops.take(x, axis=axis, indices=sliding.indices(count))
    return x


def stacked(x: Any, spatial: int) -> tuple[int, ...]:
    """Return the shape of ``x`` as (batch, channels, ...). Raises ValueError for other ranks and for no entries."""
    fits = spatial + 1 <= len(x.shape) <= spatial + 2 and 0 not in x.shape
    require(fits, f"{x.shape} is no shape of channels with {spatial} axes")
    return x.shape if len(x.shape) == spatial + 2 else (1, *x.shape)


def slidings_of(numbers: Mapping[str, int], lengths: Sequence[int] | None = None) -> list[Sliding]:
    """Return the windows that slide along the last axes, by the attributes of a row.

    Their sizes are attributes too, or the last of ``lengths``.
    """
    ends = ("",) if "stride" in numbers else ("_h", "_w")
    sizes = [numbers[name] for name in ("size", "height", "width") if name in numbers] if lengths is None else lengths
    both = {name: numbers[name] for name in ("dilation", "output_padding") if name in numbers}
    return [
        Sliding(size, numbers[f"stride{end}"], numbers.get(f"padding{end}", 0), **both)
        for size, end in zip(sizes[-len(ends) :], ends, strict=True)
    ]


def convolution(ops: Operators, x: Any, weight: Any, bias: Any, **numbers: int) -> Any:
    """Return the sums over windows of ``x`` (…, c, *L) times ``weight`` (o, c / groups, *K), plus ``bias`` (o).

    The number of groups is the number of channels of the input divided by those of the weight.
    """
    slidings = slidings_of(numbers, weight.shape)
    spatial = len(slidings)
    batch, channels, *_ = shape = stacked(x, spatial)
    out, depth = weight.shape[:2]
    fits = 0 not in weight.shape and channels % depth == 0 == out % (channels // depth)
    require(fits, f"{channels} channels do not fall into groups of {depth}")
    groups, size = channels // depth, math.prod(weight.shape[1:])
    windows = windowed(ops, ops.reshape(x, shape=shape), slidings)
    counts = windows.shape[2::2]
    positions, entries = [2 + 2 * i for i in range(spatial)], [3 + 2 * i for i in range(spatial)]
    windows = ops.reshape(windows, shape=(batch, groups, depth, *windows.shape[2:]))
    rows = ops.transpose(windows, axes=(0, 1, *(1 + i for i in positions), 2, *(1 + i for i in entries)))
    rows = ops.reshape(rows, shape=(batch, groups, math.prod(counts), size))
    columns = ops.transpose(ops.reshape(weight, shape=(groups, out // groups, size)), axes=(0, 2, 1))
    result = ops.transpose(ops.matmul(rows, columns), axes=(0, 1, 3, 2))
    result = ops.reshape(result, shape=(batch, out, *counts))
    result = ops.add(result, ops.reshape(bias, shape=(out, *(1 for _ in counts))))
    return ops.reshape(result, shape=(*x.shape[: len(x.shape) - spatial - 1], out, *counts))


conv1d = conv2d = convolution


def transposed_convolution(ops: Operators, x: Any, weight: Any, bias: Any, **numbers: int) -> Any:
    """Add every entry of ``x`` (…, c, *L) times ``weight`` (c, o / groups, *K) to its window, plus ``bias`` (o).

    The number of groups is the number of output channels divided by ``weight.shape[1]``.
    """
    slidings = slidings_of(numbers, weight.shape)
    spatial = len(slidings)
    batch, channels, *counts = shape = stacked(x, spatial)
    depth, out = weight.shape[1], bias.shape[0]
    fits = 0 not in (*weight.shape, out) and out % depth == 0 == channels % (out // depth)
    require(fits, f"{out} channels do not fall into groups of {depth}")
    little = all(sliding.output_padding < max(sliding.stride, sliding.dilation) for sliding in slidings)
    require(little, "the output is padded by less than a stride or a dilation")
    groups = out // depth
    rows = ops.reshape(x, shape=(batch, groups, channels // groups, math.prod(counts)))
    columns = ops.reshape(weight, shape=(groups, channels // groups, math.prod(weight.shape[1:])))
    windows = ops.matmul(ops.transpose(rows, axes=(0, 1, 3, 2)), columns)
    windows = ops.reshape(windows, shape=(batch, groups, *counts, depth, *weight.shape[2:]))
    positions, entries = range(2, 2 + spatial), range(3 + spatial, 3 + 2 * spatial)
    order = [axis for pair in zip(positions, entries, strict=True) for axis in pair]
    windows = ops.transpose(windows, axes=(0, 1, 2 + spatial, *order))
    windows = ops.reshape(windows, shape=(batch, out, *(windows.shape[3:])))
    result = _added_up(ops, windows, slidings)
    result = ops.add(result, ops.reshape(bias, shape=(out, *(1 for _ in counts))))
    return ops.reshape(result, shape=(*x.shape[: len(x.shape) - len(shape[1:])], *result.shape[1:]))


conv_transpose1d = conv_transpose2d = transposed_convolution


def _added_up(ops: Operators, windows: Any, slidings: Sequence[Sliding]) -> Any:
    """Add windows (b, o, L₁, K₁, L₂, K₂ …) at their positions, and cut off the padding."""
    lead, counts, spatial = windows.shape[:2], windows.shape[2::2], len(slidings)
    lengths = [(n - 1) * s.stride + s.extent + s.output_padding for n, s in zip(counts, slidings, strict=True)]
    remains = all(length > 2 * s.padding for length, s in zip(lengths, slidings, strict=True))
    require(remains, "the padding leaves nothing")
    index: list[Any] = []
    for axis, (count, sliding) in enumerate(zip(counts, slidings, strict=True)):
        shape = (*(1 for _ in range(2 * axis)), count, sliding.size, *(1 for _ in range(2 * (spatial - axis - 1))))
        index.append(_nested(np.reshape(sliding.indices(count), shape).tolist()))
    padded = ops.add_at(windows, shape=(*lead, *lengths), index=(slice(None), slice(None), *index))
    kept = (slice(s.padding, length - s.padding) for length, s in zip(lengths, slidings, strict=True))
    return ops.index(padded, index=(slice(None), slice(None), *kept))


def _nested(items: Any) -> Any:
    return tuple(map(_nested, items)) if isinstance(items, list) else items


def convolve(ops: Operators, x: Any, y: Any, *, mode: str) -> Any:
    """Return the convolution of two vectors in one of the modes of ``numpy.convolve``.

    Raises ValueError if one is empty.
    """
    n, m = x.shape[0], y.shape[0]
    require(n * m > 0, "nothing is convolved with nothing")
    products = ops.multiply(ops.expand_dims(x, axis=1), y)
    indices = tuple(tuple(range(i, i + m)) for i in range(n))
    full = ops.add_at(products, shape=(n + m - 1,), index=(indices,))
    if mode == "full":
        return full
    shortest = min(n, m)
    start, length = (shortest - 1, max(n, m) - shortest + 1) if mode == "valid" else ((shortest - 1) // 2, max(n, m))
    return ops.index(full, index=(slice(start, start + length),))


def im2col(ops: Operators, x: Any, **numbers: int) -> Any:
    """Return each window of ``x`` (c, h, w) as a column: (c · height · width, windows)."""
    stacked(x, 2)
    windows = windowed(ops, x, slidings_of(numbers))
    columns = ops.transpose(windows, axes=(0, 2, 4, 1, 3))
    return ops.reshape(columns, shape=(math.prod(columns.shape[:3]), math.prod(columns.shape[3:])))


Bounds = Sequence[Sequence[slice]]


def pooled(ops: Operators, x: Any, bounds: Bounds, reduction: str) -> Any:
    """Reduce every window of the last axes; ``bounds`` holds, for each of these axes, the slices of the windows."""
    lead = x.shape[: len(x.shape) - len(bounds)]
    axes = tuple(range(len(lead), len(x.shape)))
    before = (slice(None),) * len(lead)
    reduce = getattr(ops, reduction)
    entries = [reduce(ops.index(x, index=(*before, *window)), axis=axes) for window in product(*bounds)]
    return ops.reshape(ops.stack(*entries, axis=len(lead)), shape=(*lead, *map(len, bounds)))


def _windows(x: Any, slidings: Sequence[Sliding], *, ceil: bool) -> list[list[slice]]:
    lengths = stacked(x, len(slidings))[2:]
    require(all(s.padding <= s.size // 2 for s in slidings), "the padding is at most half of the window")
    return [
        [sliding.inside(number, length) for number in range(sliding.count(length, ceil=ceil))]
        for sliding, length in zip(slidings, lengths, strict=True)
    ]


def max_pool(ops: Operators, x: Any, *, ceil_mode: bool, **numbers: int) -> Any:
    """Return the largest entry of each window, without the padding."""
    return pooled(ops, x, _windows(x, slidings_of(numbers), ceil=ceil_mode), "max")


max_pool1d = max_pool2d = max_pool


def average_pool(ops: Operators, x: Any, *, ceil_mode: bool, count_include_pad: bool, **numbers: int) -> Any:
    """Return the sum of each window over its number of entries, which may include the padding.

    The part of a window that reaches beyond the padding (with ``ceil_mode``) is never counted. Source: PyTorch, the
    documentation of AvgPool2d.
    """
    slidings = slidings_of(numbers)
    lengths = x.shape[len(x.shape) - len(slidings) :]
    bounds = _windows(x, slidings, ceil=ceil_mode)

    def count(axis: int, number: int) -> int:
        sliding, window = slidings[axis], bounds[axis][number]
        if not count_include_pad:
            return int(window.stop - window.start)
        start = number * sliding.stride - sliding.padding
        return min(start + sliding.size, int(lengths[axis]) + sliding.padding) - start

    sums = pooled(ops, x, bounds, "sum")
    counts = [[count(axis, number) for number in range(len(windows))] for axis, windows in enumerate(bounds)]
    return ops.divide(sums, ops.constant(math.prod(np.ix_(*counts))))


avg_pool1d = avg_pool2d = average_pool


def lp_pool1d(ops: Operators, x: Any, *, norm: float, **numbers: int) -> Any:
    """Return the p-th root of the sum of p-th powers (p is ``norm``) of each window of the last axis."""
    bounds = _windows(x, slidings_of(numbers), ceil=False)
    return ops.power(pooled(ops, ops.power(x, norm), bounds, "sum"), 1 / norm)


def adaptive_pool(reduction: str) -> Callable[..., Any]:
    """Return the function that reduces windows, as many as asked for, that divide the last axes.

    They divide an axis as evenly as possible, and overlap where needed.
    """

    def pool(ops: Operators, x: Any, **counts: int) -> Any:
        pairs = list(zip(stacked(x, len(counts))[2:], counts.values(), strict=True))
        bounds = [[slice(i * n // count, -(-(i + 1) * n // count)) for i in range(count)] for n, count in pairs]
        return pooled(ops, x, bounds, reduction)

    return pool


adaptive_avg_pool1d = adaptive_avg_pool2d = adaptive_pool("mean")
adaptive_max_pool1d = adaptive_pool("max")


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
