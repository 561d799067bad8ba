"""Slices of arrays along an axis, and axes merged into one."""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import normalize_axis_index

from refgrad.operators.composite import Operators
from refgrad.operators.structures.reductions import Axes, reduced_axes, size_along


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
