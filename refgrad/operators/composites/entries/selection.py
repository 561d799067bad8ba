"""Composites that select entries, or replace them with a number, by indices or masks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.entries.rearrangement import BLANK, Places, filled, moved, places_of, required


def take_along_axis(places: Places, *, axis: int, indices: Any) -> Places:
    """Return, for every line along ``axis``, the entries at indices of its own."""
    return np.take_along_axis(places, _integers(indices, places), axis)


def gather(places: Places, *, axis: int, indices: Any) -> Places:
    """Return :func:`take_along_axis`, of the first lines only if there are fewer lines of indices."""
    wanted = _integers(indices, places)
    if places.ndim == 0:
        return places[..., None].take(wanted)
    axis %= places.ndim
    required(
        all(n <= m for i, (n, m) in enumerate(zip(wanted.shape, places.shape, strict=True)) if i != axis),
        "there are more lines of indices than of entries",
    )
    fewer = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(wanted.shape))
    return np.take_along_axis(places[fewer], wanted, axis)


def index_select(places: Places, *, axis: int, indices: tuple[int, ...]) -> Places:
    """Return the entries of an axis at indices; a scalar counts as an axis of length one."""
    if places.ndim == 0:
        required(len(indices) == 1, "a scalar has one entry")
        return places[..., None].take(indices).reshape(())
    return np.take(places, np.asarray(indices, dtype=np.intp), axis)


def take_flat(places: Places, *, indices: Any) -> Places:
    """Return the entries at indices in row-major order, in the shape of the indices."""
    return places.ravel().take(np.asarray(indices, dtype=np.intp))


def select(places: Places, *, axis: int, position: int) -> Places:
    """Return one entry of an axis, without the axis."""
    picked: Places = np.take(places, position, axis)
    return picked


def narrow(places: Places, *, axis: int, start: int, length: int) -> Places:
    """Return ``length`` entries of an axis; a negative ``start`` counts from its end."""
    have = places.shape[axis]
    required(-have <= start <= have, "the start lies outside of the axis")
    start = start % have if start < 0 else start
    required(start + length <= have, "the axis is too short")
    return np.take(places, range(start, start + length), axis)


def compress(places: Places, *, axis: int | None, condition: tuple[bool, ...]) -> Places:
    """Return the entries of an axis where the condition is true."""
    return np.compress(np.asarray(condition, dtype=bool), places, axis)


def masked_select(places: Places, *, mask: Any) -> Places:
    """Return the entries where the mask is true, after broadcasting the two."""
    truths = np.asarray(mask, dtype=bool)
    required(truths.size > 0 or places.size == 0, "the mask has no entries")
    shape = np.broadcast_shapes(places.shape, truths.shape)
    picked: Places = np.broadcast_to(places, shape)[np.broadcast_to(truths, shape)]
    return picked


def boolean_index(places: Places, *, mask: Any) -> Places:
    """Return the entries where a mask of the first axes is true; those axes become one."""
    truths = np.asarray(mask, dtype=bool)
    required(truths.size > 0, "the mask has no entries")
    picked: Places = places[truths]
    return picked


def delete(places: Places, *, axis: int | None, position: int) -> Places:
    """Return all entries of an axis but one."""
    return np.delete(places, position, axis)


def insert(ops: Operators, x: Any, *, axis: int | None, position: int, value: float) -> Any:
    """Insert ``value`` before an entry of an axis."""
    (places,) = places_of(x.shape)
    return filled(ops, [x], np.insert(places, position, BLANK, axis), value)


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
    (places,) = places_of(x.shape)
    places = places.reshape(x.shape or (1,))
    lines: list[Any] = [slice(None)] * places.ndim
    lines[axis] = np.asarray(indices, dtype=np.intp)
    places[tuple(lines)] = BLANK
    return filled(ops, [x], places.reshape(x.shape), value)


def _integers(indices: Any, places: Places) -> Places:
    wanted = np.asarray(indices, dtype=np.intp)
    required(wanted.ndim == places.ndim, "indices and array have different ranks")
    return wanted


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
