"""Entries in order along an axis: sorting, the entry of a given rank, and the index of an extremum.

Neighbours are compared and exchanged by minimum and maximum until all are in order, so that the steps do not depend on
the entries (D. E. Knuth, The Art of Computer Programming 3, 5.3.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, prod
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.axes.slicing import axis_of, slices


def ordered(ops: Operators, x: Any, axis: int) -> list[Any]:
    """Return the slices along an axis, with entries sorted in increasing order across the slices."""
    parts = slices(ops, x, axis)
    for last in range(len(parts) - 1, 0, -1):
        for index in range(last):
            low, high = parts[index], parts[index + 1]
            parts[index], parts[index + 1] = ops.minimum(low, high), ops.maximum(low, high)
    return parts


def require_entries(x: Any) -> Any:
    """Return ``x``. Raises ValueError for an array without entries, which ``torch.quantile`` rejects too."""
    if 0 in x.shape:
        raise ValueError("there is no quantile of no entries")
    return x


def sort(ops: Operators, x: Any, *, axis: int, descending: bool) -> Any:
    """Sort the entries along an axis in increasing or decreasing order."""
    parts = ordered(ops, x, axis)
    return ops.stack(*(parts[::-1] if descending else parts), axis=axis_of(x, axis)) if parts else x


def topk(ops: Operators, x: Any, *, k: int, axis: int, largest: bool) -> Any:
    """Return the ``k`` largest or smallest entries of an axis, the most extreme first."""
    parts = ordered(ops, x, axis)
    if k > len(parts):
        raise ValueError(f"there are no {k} entries among {len(parts)}")
    return ops.stack(*(parts[::-1] if largest else parts)[:k], axis=axis_of(x, axis))


def kthvalue(ops: Operators, x: Any, *, k: int, axis: int, keepdims: bool) -> Any:
    """Return the ``k``-th smallest entry of an axis, counted from 1."""
    parts = ordered(ops, x, axis)
    if k > len(parts):
        raise ValueError(f"there are no {k} entries among {len(parts)}")
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
    if not parts:
        raise ValueError("there is no median of no entries")
    return _reduced(ops, x, parts[(len(parts) - 1) // 2], axis, keepdims=keepdims)


def times_argmax(ops: Operators, x: Any, *, axis: int | None) -> Any:
    """Return ``x`` times the argmax along an axis, or of the flattened array; of a tie, the first index."""
    return _times_index(ops, x, axis, descending=True)


def times_argmin(ops: Operators, x: Any, *, axis: int | None) -> Any:
    """Return ``x`` times the argmin along an axis, or of the flattened array; of a tie, the first index."""
    return _times_index(ops, x, axis, descending=False)


def _times_index(ops: Operators, x: Any, axis: int | None, *, descending: bool) -> Any:
    flat = ops.reshape(x, shape=(prod(x.shape),)) if axis is None else x
    parts = slices(ops, flat, axis or 0)
    if not parts:
        raise ValueError("there is no index of an extremum of no entries")
    index = _extreme_index(ops, parts, descending=descending)
    return ops.multiply(x, index if axis is None else ops.expand_dims(index, axis=axis_of(x, axis)))


def _extreme_index(ops: Operators, parts: list[Any], *, descending: bool) -> Any:
    """Return the index of the first extreme entry, updated part by part by steps whose derivative is zero."""
    best, index = parts[0], ops.constant(np.zeros(parts[0].shape))
    for number, part in enumerate(parts[1:], 1):
        ahead = ops.sign(ops.subtract(part, best) if descending else ops.subtract(best, part))
        moves = ops.floor(
            ops.add(ops.multiply(ahead, 0.5), 0.75)
        )  # 1 if the part is more extreme, else 0, also in a tie
        index = ops.add(index, ops.multiply(moves, ops.subtract(number, index)))
        best = ops.maximum(best, part) if descending else ops.minimum(best, part)
    return index


def _reduced(ops: Operators, x: Any, result: Any, axis: int, *, keepdims: bool) -> Any:
    return ops.expand_dims(result, axis=axis_of(x, axis)) if keepdims else result


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "sort": Composite(sort),
    "topk": Composite(topk),
    "kthvalue": Composite(kthvalue),
    "quantile": Composite(quantile),
    "median": Composite(median),
    "lower_median": Composite(lower_median),
    "times_argmax": Composite(times_argmax),
    "times_argmin": Composite(times_argmin),
})
