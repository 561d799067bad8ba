"""Composites that select entries, or replace them with a number, by indices or masks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.entries.rearrangement import BLANK, Positions, filled, moved, positions_of, required


def take_along_axis(positions: Positions, *, axis: int, indices: Any) -> Positions:
    """Return, for every line along ``axis``, the entries at indices of its own."""
    return np.take_along_axis(positions, _integers(indices, positions), axis)


def gather(positions: Positions, *, axis: int, indices: Any) -> Positions:
    """Return :func:`take_along_axis`, of the first lines only if there are fewer lines of indices."""
    chosen = _integers(indices, positions)
    if positions.ndim == 0:
        return positions[..., None].take(chosen)
    axis %= positions.ndim
    required(
        all(n <= m for i, (n, m) in enumerate(zip(chosen.shape, positions.shape, strict=True)) if i != axis),
        "there are more lines of indices than of entries",
    )
    fewer = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(chosen.shape))
    return np.take_along_axis(positions[fewer], chosen, axis)


def index_select(positions: Positions, *, axis: int, indices: tuple[int, ...]) -> Positions:
    """Return the entries of an axis at indices; a scalar counts as an axis of length one."""
    if positions.ndim == 0:
        required(len(indices) == 1, "a scalar has one entry")
        return positions[..., None].take(indices).reshape(())
    return np.take(positions, np.asarray(indices, dtype=np.intp), axis)


def take_flat(positions: Positions, *, indices: Any) -> Positions:
    """Return the entries at indices in row-major order, in the shape of the indices."""
    return positions.ravel().take(np.asarray(indices, dtype=np.intp))


def select(positions: Positions, *, axis: int, position: int) -> Positions:
    """Return one entry of an axis, without the axis."""
    picked: Positions = np.take(positions, position, axis)
    return picked


def narrow(positions: Positions, *, axis: int, start: int, length: int) -> Positions:
    """Return ``length`` entries of an axis; a negative ``start`` counts from its end."""
    have = positions.shape[axis]
    required(-have <= start <= have, "the start lies outside of the axis")
    start = start % have if start < 0 else start
    required(start + length <= have, "the axis is too short")
    return np.take(positions, range(start, start + length), axis)


def compress(positions: Positions, *, axis: int | None, condition: tuple[bool, ...]) -> Positions:
    """Return the entries of an axis where the condition is true."""
    return np.compress(np.asarray(condition, dtype=bool), positions, axis)


def masked_select(positions: Positions, *, mask: Any) -> Positions:
    """Return the entries where the mask is true, after broadcasting the two."""
    truths = np.asarray(mask, dtype=bool)
    required(truths.size > 0 or positions.size == 0, "the mask has no entries")
    shape = np.broadcast_shapes(positions.shape, truths.shape)
    picked: Positions = np.broadcast_to(positions, shape)[np.broadcast_to(truths, shape)]
    return picked


def boolean_index(positions: Positions, *, mask: Any) -> Positions:
    """Return the entries where a mask of the first axes is true; those axes become one."""
    truths = np.asarray(mask, dtype=bool)
    required(truths.size > 0, "the mask has no entries")
    picked: Positions = positions[truths]
    return picked


def delete(positions: Positions, *, axis: int | None, position: int) -> Positions:
    """Return all entries of an axis but one."""
    return np.delete(positions, position, axis)


def insert(ops: Operators, x: Any, *, axis: int | None, position: int, value: float) -> Any:
    """Insert ``value`` before an entry of an axis."""
    (positions,) = positions_of(x.shape)
    return filled(ops, [x], np.insert(positions, position, BLANK, axis), value)


def masked_fill(ops: Operators, x: Any, mask: Any, *, value: float) -> Any:
    """Return ``value`` where the mask is true, and the entries elsewhere."""
    return ops.where(mask, value, x)


def masked_nan_to_num(ops: Operators, x: Any, mask: Any, *, nan: float) -> Any:
    """Return ``nan`` where the mask is true, and the entries elsewhere: ``nan_to_num`` of a masked array."""
    return ops.where(mask, nan, x)


def where_number(ops: Operators, condition: Any, x: Any, *, value: float) -> Any:
    """Return the entries where the condition is true, and ``value`` elsewhere."""
    return ops.where(condition, x, value)


def index_fill(ops: Operators, x: Any, *, axis: int, indices: tuple[int, ...], value: float) -> Any:
    """Return ``value`` at indices of an axis, and the entries elsewhere."""
    (positions,) = positions_of(x.shape)
    positions = positions.reshape(x.shape or (1,))
    lines: list[Any] = [slice(None)] * positions.ndim
    lines[axis] = np.asarray(indices, dtype=np.intp)
    positions[tuple(lines)] = BLANK
    return filled(ops, [x], positions.reshape(x.shape), value)


def _integers(indices: Any, positions: Positions) -> Positions:
    chosen = np.asarray(indices, dtype=np.intp)
    required(chosen.ndim == positions.ndim, "indices and array have different ranks")
    return chosen


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "take_along_axis": moved(take_along_axis),
    "gather": moved(gather),
    "index_select": moved(index_select),
    "take_flat": moved(take_flat),
    "select": moved(select),
    "narrow": moved(narrow),
    "compress": moved(compress),
    "masked_select": moved(masked_select),
    "boolean_index": moved(boolean_index),
    "delete": moved(delete),
    "insert": Composite(insert),
    "masked_fill": Composite(masked_fill),
    "masked_nan_to_num": Composite(masked_nan_to_num),
    "where_number": Composite(where_number),
    "index_fill": Composite(index_fill),
})
