"""Composites that select entries by a condition or an index, and those that write to selected entries."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from refgrad.operators.composites.movement import BLANK, Positions, copied, moved, moved_between_blanks, positions_of
from refgrad.operators.operator import Composite, Operators, require
from refgrad.operators.structures import numpy_index


def take_along_axis(positions: Positions, *, axis: int, indices: Any) -> Positions:
    """Return, for every line along ``axis``, the entries at indices of its own."""
    return np.take_along_axis(positions, _integers(indices, positions), axis)


def gather(positions: Positions, *, axis: int, indices: Any) -> Positions:
    """Return :func:`take_along_axis`, of the first lines only if there are fewer lines of indices."""
    chosen = _integers(indices, positions)
    if positions.ndim == 0:
        return positions[..., None].take(chosen)
    axis %= positions.ndim
    return np.take_along_axis(_first_lines(positions, chosen, axis), chosen, axis)


def _first_lines(positions: Positions, chosen: Positions, axis: int) -> Positions:
    """Return as many lines along ``axis`` as ``chosen`` has. Raises ValueError if there are fewer."""
    fewer = [slice(n) for n in chosen.shape]
    fewer[axis] = slice(None)
    fits = all(n <= m for i, (n, m) in enumerate(zip(chosen.shape, positions.shape, strict=True)) if i != axis)
    require(fits, "there are more lines of indices than of entries")
    return positions[tuple(fewer)]


def index_select(positions: Positions, *, axis: int, indices: tuple[int, ...]) -> Positions:
    """Return the entries of an axis at indices; a scalar counts as an axis of length one."""
    if positions.ndim == 0:
        require(len(indices) == 1, "a scalar has one entry")
        return positions[..., None].take(indices).reshape(())
    return np.take(positions, np.asarray(indices, dtype=np.intp), axis)


def take_flat(positions: Positions, *, indices: Any) -> Positions:
    """Return the entries at indices in row-major order, in the shape of the indices."""
    return positions.ravel().take(np.asarray(indices, dtype=np.intp))


def narrow(positions: Positions, *, axis: int, start: int, length: int) -> Positions:
    """Return ``length`` entries of an axis; a negative ``start`` counts from its end."""
    have = positions.shape[axis]
    require(-have <= start <= have, "the start lies outside of the axis")
    start = start % have if start < 0 else start
    require(start + length <= have, "the axis is too short")
    return np.take(positions, range(start, start + length), axis)


def compress(positions: Positions, *, axis: int | None, condition: tuple[bool, ...]) -> Positions:
    """Return the entries of an axis where the condition is true."""
    return np.compress(np.asarray(condition, dtype=bool), positions, axis)


def masked_select(positions: Positions, *, mask: Any) -> Positions:
    """Return the entries where the mask is true, after broadcasting the two."""
    truths = np.asarray(mask, dtype=bool)
    require(truths.size > 0 or positions.size == 0, "the mask has no entries")
    shape = np.broadcast_shapes(positions.shape, truths.shape)
    return np.asarray(np.broadcast_to(positions, shape)[np.broadcast_to(truths, shape)])


def boolean_index(positions: Positions, *, mask: Any) -> Positions:
    """Return the entries where a mask of the first axes is true; those axes become one."""
    truths = np.asarray(mask, dtype=bool)
    require(truths.size > 0, "the mask has no entries")
    return np.asarray(positions[truths])


def delete(positions: Positions, *, axis: int | None, position: int) -> Positions:
    """Return all entries of an axis but one."""
    return np.delete(positions, position, axis)


@moved_between_blanks
def insert(positions: Positions, *, axis: int | None, position: int) -> Positions:
    """Insert a number before an entry of an axis."""
    return np.insert(positions, position, BLANK, axis)


@moved_between_blanks
def index_fill(positions: Positions, *, axis: int, indices: tuple[int, ...]) -> Positions:
    """Replace the entries at indices of an axis by a number."""
    entries = positions.reshape(positions.shape or (1,))
    lines: list[Any] = [slice(None)] * entries.ndim
    lines[axis] = np.asarray(indices, dtype=np.intp)
    entries[tuple(lines)] = BLANK
    return entries.reshape(positions.shape)


masked_fill = Composite(lambda ops, x, mask, *, value: ops.where(mask, value, x))
masked_nan_to_num = Composite(lambda ops, x, mask, *, nan: ops.where(mask, nan, x))
where_number = Composite(lambda ops, condition, x, *, value: ops.where(condition, x, value))


def _integers(indices: Any, positions: Positions) -> Positions:
    chosen = np.asarray(indices, dtype=np.intp)
    require(chosen.ndim == positions.ndim, "indices and array have different ranks")
    return chosen


Targets = Callable[..., tuple[Positions, Positions]]


def written(targets: Targets) -> Composite:
    """Return the composite that writes entries: ``targets(x, source, …)`` returns the indices written to and read."""

    def rule(x: Positions, source: Positions, **attributes: Any) -> Positions:
        to, origin = targets(x, source, **attributes)
        require(np.unique(to).size == to.size, "an entry is written twice")
        result = x.copy()
        result.reshape(-1)[to.ravel()] = origin.ravel()
        return result

    return moved(rule)


def added(targets: Targets) -> Composite:
    """Return the composite that adds entries, scaled by ``alpha`` if it has that attribute; duplicates accumulate."""

    def forward(ops: Operators, x: Any, source: Any, *, alpha: float = 1.0, **attributes: Any) -> Any:
        to, origin = targets(*positions_of(x, source), **attributes)
        summands = copied(ops, [source], origin.ravel() - prod(x.shape))
        spread = ops.add_at(summands, shape=(prod(x.shape),), index=(tuple(to.ravel().tolist()),))
        spread = ops.reshape(spread, shape=x.shape)
        return ops.add(x, spread if alpha == 1 else ops.multiply(spread, alpha))

    return Composite(forward)


def written_or_added(targets: Targets) -> Composite:
    """Return the composite that adds entries with the attribute ``accumulate``, and writes them without."""

    def forward(ops: Operators, x: Any, source: Any, *, accumulate: bool, **attributes: Any) -> Any:
        way = added(targets) if accumulate else written(targets)
        return way.forward(ops, x, source, **attributes)

    return Composite(forward)


def reduced(targets: Targets) -> Composite:
    """Return the composite that combines all entries written to one index by the operator ``reduce``.

    Indices with the same number of entries are reduced together, so that no neutral element is needed.
    """

    def forward(ops: Operators, x: Any, source: Any, *, reduce: str, include_self: bool, **attributes: Any) -> Any:
        x_positions, source_positions = positions_of(x, source)
        to, origin = targets(x_positions, source_positions, **attributes)
        goals, origins = to.ravel(), origin.ravel()
        groups: dict[int, list[tuple[int, list[int]]]] = {}
        for position in range(x_positions.size):
            contributions = origins[goals == position].tolist()
            if include_self or not contributions:
                contributions = [position, *contributions]
            groups.setdefault(len(contributions), []).append((position, contributions))
        if not groups:
            return copied(ops, [x, source], x_positions)
        lines = (np.asarray([entries for _, entries in group]) for group in groups.values())
        parts = [getattr(ops, reduce)(copied(ops, [x, source], entries), axis=(1,)) for entries in lines]
        together = parts[0] if len(parts) == 1 else ops.concatenate(*parts, axis=0)
        positions = np.argsort([position for group in groups.values() for position, _ in group])
        return ops.reshape(copied(ops, [together], positions), shape=x.shape)

    return Composite(forward)


def along_axis(x: Positions, source: Positions, *, axis: int, indices: Any) -> tuple[Positions, Positions]:
    """Map each line of the source along ``axis`` to indices of its own, in the first lines of the array."""
    chosen = np.asarray(indices, dtype=np.intp)
    require(chosen.shape == source.shape and x.ndim == source.ndim, "every source needs an index")
    if x.ndim == 0:
        x, source, chosen = x.reshape(1), source.reshape(1), chosen.reshape(1)
    return np.take_along_axis(_first_lines(x, chosen, axis % x.ndim), chosen, axis), source


def rows(x: Positions, source: Positions, *, axis: int, indices: tuple[int, ...]) -> tuple[Positions, Positions]:
    """Map the entries of an axis of the source to indices of that axis of the array."""
    if x.ndim == 0:
        x, source = x.reshape(1), source.reshape(-1)
    to = np.take(x, np.asarray(indices, dtype=np.intp), axis)
    require(to.shape == source.shape, "there are not as many sources as indices")
    return to, source


def first_rows(x: Positions, source: Positions, *, indices: Any) -> tuple[Positions, Positions]:
    """Map the source, broadcast if needed, to indices of the first axis."""
    require(x.ndim > 0, "there is no first axis")
    to = x[np.asarray(indices, dtype=np.intp)]
    return to, np.broadcast_to(source, to.shape)


def at_index(x: Positions, source: Positions, *, index: tuple[Any, ...]) -> tuple[Positions, Positions]:
    """Map the source, broadcast if needed, to ``x[index]``."""
    to = x[(*numpy_index(index), ...)]
    return to, np.broadcast_to(source, to.shape)


def flat(x: Positions, source: Positions, *, indices: Any) -> tuple[Positions, Positions]:
    """Map the source to indices of the array in row-major order."""
    chosen = np.asarray(indices, dtype=np.intp).reshape(source.shape)
    return x.ravel().take(chosen), source


def masked(x: Positions, source: Positions, *, mask: Any) -> tuple[Positions, Positions]:
    """Map the first entries of the source, in order, to where the mask, broadcast to the array, is true."""
    truths = np.asarray(mask, dtype=bool)
    require(truths.size > 0 or x.size == 0, "the mask has no entries")
    to = x[np.broadcast_to(truths, x.shape)] if x.size else x.ravel()
    require(source.size >= to.size, "there are fewer sources than entries to replace")
    return to, source.ravel()[: to.size]


def sliced(x: Positions, source: Positions, *, axis: int, start: int, step: int) -> tuple[Positions, Positions]:
    """Map the entries of an axis of the source to every ``step``-th index of that axis, from ``start``."""
    require(-x.shape[axis] <= start < x.shape[axis], "the start lies outside of the axis")
    start %= x.shape[axis]
    picked = range(start, x.shape[axis], step)
    to = np.take(x, picked, axis)
    require(to.shape == source.shape, "there are not as many sources as indices")
    return to, source


def selected(x: Positions, source: Positions, *, axis: int, position: int) -> tuple[Positions, Positions]:
    """Map the first entry of an axis of the source to one index of that axis."""
    return np.take(x, position, axis), np.take(source, 0, axis)


def on_diagonal(x: Positions, source: Positions, *, offset: int, axes: tuple[int, int]) -> tuple[Positions, Positions]:
    """Map a diagonal of two axes of the source to that diagonal of the array."""
    return np.diagonal(x, offset, *axes), np.diagonal(source, offset, *axes)


scatter, scatter_add, scatter_reduce = written(along_axis), added(along_axis), reduced(along_axis)
index_copy, index_add, index_reduce = written(rows), added(rows), reduced(rows)
index_put, put = written_or_added(first_rows), written_or_added(flat)
set_at, masked_scatter = written(at_index), written(masked)
slice_scatter, select_scatter, diagonal_scatter = written(sliced), written(selected), written(on_diagonal)
