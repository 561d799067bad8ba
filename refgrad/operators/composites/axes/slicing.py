"""Arrays taken apart along axes, and put together again."""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import normalize_axis_index

from refgrad.operators.composite import Operators
from refgrad.operators.structures.reductions import Axes, reduced_axes, size_along


def axis_of(x: Any, axis: int) -> int:
    """Return the axis counted from the front. Raises numpy's AxisError, a ValueError, where ``x`` does not have it."""
    return normalize_axis_index(axis, len(x.shape))


def length_along(x: Any, axis: int) -> int:
    """Return how many entries ``x`` has along an axis. Raises ValueError where ``x`` does not have it."""
    length: int = x.shape[axis_of(x, axis)]
    return length


def stretch(ops: Operators, x: Any, axis: int, start: int, stop: int) -> Any:
    """Return the entries of an axis from ``start`` up to ``stop``; the axis stays."""
    return ops.index(x, index=(*(slice(None),) * axis_of(x, axis), slice(start, stop)))


def slices(ops: Operators, x: Any, axis: int) -> list[Any]:
    """Return what stands at each place of an axis, without the axis."""
    before = (slice(None),) * axis_of(x, axis)
    return [ops.index(x, index=(*before, place)) for place in range(length_along(x, axis))]


def gathered(ops: Operators, x: Any, axis: Axes) -> Any:
    """Return ``x`` with the given axes made one, which stands behind all others."""
    axes = reduced_axes(axis, len(x.shape))
    rest = tuple(i for i in range(len(x.shape)) if i not in axes)
    moved = ops.transpose(x, axes=(*rest, *axes))
    return ops.reshape(moved, shape=(*(x.shape[i] for i in rest), size_along(x.shape, axis)))
