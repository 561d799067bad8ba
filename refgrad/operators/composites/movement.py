"""Composites that move entries without computing with them.

A function takes the indices of the entries of each array, counted on from array to array, and returns them rearranged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from refgrad.operators.operator import Composite, Operators, refuse_size, require

Pair = tuple[int, int]
Widths = tuple[Pair, ...]
Positions = npt.NDArray[np.intp]

BLANK: Final = -1
"""Index of an entry that is not copied from anywhere."""


def blanks(*shape: int) -> Positions:
    """Return an array of BLANK. Raises ValueError if it is too large."""
    refuse_size(prod(shape))
    return np.full(shape, BLANK)


def positions_of(*arrays: Any) -> list[Positions]:
    """Return arrays of these shapes that hold the flat indices of their entries, counted on from array to array."""
    ends = np.cumsum([0, *(prod(x.shape) for x in arrays)])
    return [np.arange(end, end + prod(x.shape)).reshape(x.shape) for end, x in zip(ends, arrays, strict=False)]


def copied(ops: Operators, arrays: Sequence[Any], positions: Positions) -> Any:
    """Return the entries of ``arrays`` at the indices ``positions``, counted as by :func:`positions_of`."""
    flat = [ops.reshape(x, shape=(prod(x.shape),)) for x in arrays]
    entries = flat[0] if len(flat) == 1 else ops.concatenate(*flat, axis=0)
    return ops.reshape(ops.take(entries, axis=0, indices=_flat(positions)), shape=positions.shape)


def filled(ops: Operators, arrays: Sequence[Any], positions: Positions, value: float) -> Any:
    """Return :func:`copied`, with ``value`` wherever ``positions`` are BLANK."""
    there = positions != BLANK
    kept = copied(ops, arrays, positions[there])
    spread = ops.add_at(kept, shape=(positions.size,), index=(_flat(np.flatnonzero(there)),))
    result = ops.reshape(spread, shape=positions.shape)
    return result if value == 0 else ops.where(ops.constant(there), result, value)


def moved(rule: Callable[..., Any]) -> Composite:
    """Return the composite that rearranges the entries of arrays as ``rule`` rearranges their indices."""

    def forward(ops: Operators, *arrays: Any, **attributes: Any) -> Any:
        return copied(ops, arrays, np.asarray(rule(*positions_of(*arrays), **attributes)))

    return Composite(forward)


def moved_between_blanks(rule: Callable[..., Any]) -> Composite:
    """Return the composite of :func:`moved`, with ``value``, by default 0, wherever ``rule`` returns BLANK."""

    def forward(ops: Operators, *arrays: Any, value: float = 0.0, **attributes: Any) -> Any:
        return filled(ops, arrays, np.asarray(rule(*positions_of(*arrays), **attributes)), value)

    return Composite(forward)


def _flat(positions: Positions) -> tuple[int, ...]:
    return tuple(positions.ravel().tolist())


def _padded(positions: Positions, pad_width: Widths) -> Positions:
    """Pad each axis with a number before and after its entries; a negative width cuts entries off."""
    require(len(pad_width) == positions.ndim, "pad_width needs a pair of widths for each axis")
    cuts = [(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(positions.shape, pad_width, strict=True)]
    require(all(start <= stop for start, stop in cuts), "more is cut off than there is")
    cut = positions[tuple(slice(*pair) for pair in cuts)]
    widths = [(max(0, a), max(0, b)) for a, b in pad_width]
    return np.pad(cut, widths, constant_values=BLANK) if widths else cut


@moved_between_blanks
def pad(positions: Positions, *, pad_width: Widths) -> Positions:
    """Pad each axis with a number before and after its entries. Raises ValueError for a scalar."""
    require(positions.ndim > 0, "a scalar has nothing around it")
    return _padded(positions, pad_width)


constant_pad = moved_between_blanks(_padded)


def pad_by_copies(positions: Positions, *, pad_width: Widths, mode: Literal["reflect", "edge", "wrap"]) -> Positions:
    """Pad each axis with copies of entries: mirrored without the border, of the border, or from the other side."""
    require(len(pad_width) == positions.ndim, "pad_width needs a pair of widths for each axis")
    room = {"reflect": -1, "edge": 1 << 30, "wrap": 0}[mode]
    for length, pair in zip(positions.shape, pad_width, strict=True):
        require(min(pair) >= 0 and max(pair) <= length + room and (length > 0 or mode != "edge"), "too wide a border")
    return np.pad(positions, pad_width, mode=mode) if pad_width else positions


repeat = repeat_interleave = np.repeat
roll, tile, rot90, moveaxis, swapaxes = np.roll, np.tile, np.rot90, np.moveaxis, np.swapaxes
fliplr, flipud, ravel, squeeze_all = np.fliplr, np.flipud, np.ravel, np.squeeze
atleast_1d, atleast_2d, atleast_3d = np.atleast_1d, np.atleast_2d, np.atleast_3d


def _joined(join: Callable[..., Positions]) -> Callable[..., Positions]:
    """Return a function of several arrays that joins them as one of NumPy's functions of a sequence does."""
    return lambda *arrays: join(arrays)


hstack, vstack = _joined(np.hstack), _joined(np.vstack)
dstack, column_stack = _joined(np.dstack), _joined(np.column_stack)


def diagonal(positions: Positions, *, offset: int, axes: Pair) -> Positions:
    """Return a diagonal of two axes as a new last axis; ``offset`` counts to the right, or down if negative."""
    return np.diagonal(positions, offset, *axes)


def _on_diagonals(positions: Positions, offset: int, axes: Pair) -> Positions:
    """Return matrices with the last axis as diagonal; their rows and columns are ``axes`` of the result."""
    length = positions.shape[-1]
    result = blanks(*positions.shape[:-1], length + abs(offset), length + abs(offset))
    rows = np.arange(length) + max(0, -offset)
    result[..., rows, rows + offset] = positions
    return np.moveaxis(result, (-2, -1), axes)


diag_embed = moved_between_blanks(_on_diagonals)


@moved_between_blanks
def diag(positions: Positions, *, k: int) -> Positions:
    """Return the matrix with a vector as its diagonal, or the diagonal of a matrix."""
    if positions.ndim == 1:
        return _on_diagonals(positions, k, (0, 1))
    require(positions.ndim == 2, "diag takes a vector or a matrix")  # noqa: PLR2004 (the rank of a matrix)
    return np.diagonal(positions, k)


@moved_between_blanks
def tril(positions: Positions, *, k: int) -> Positions:
    """Keep the entries on and below a diagonal of the last two axes; the others are BLANK."""
    require(positions.ndim > 1, "there are no rows and columns")
    return np.where(np.tri(positions.shape[-2], positions.shape[-1], k, dtype=bool), positions, BLANK)


@moved_between_blanks
def triu(positions: Positions, *, k: int) -> Positions:
    """Keep the entries on and above a diagonal of the last two axes; the others are BLANK."""
    require(positions.ndim > 1, "there are no rows and columns")
    return np.where(np.tri(positions.shape[-2], positions.shape[-1], k - 1, dtype=bool), BLANK, positions)


def flatten(positions: Positions, *, start_dim: int, end_dim: int) -> Positions:
    """Merge the axes from ``start_dim`` to ``end_dim``; a scalar becomes a vector."""
    rank = max(1, positions.ndim)
    require(-rank <= min(start_dim, end_dim) and max(start_dim, end_dim) < rank, "there is no such axis")
    start, end = start_dim % rank, end_dim % rank
    require(start <= end, "the last axis comes before the first")
    middle = prod(positions.shape[start : end + 1])
    return positions.reshape(*positions.shape[:start], middle, *positions.shape[end + 1 :])


def unflatten(positions: Positions, *, axis: int, sizes: tuple[int, ...]) -> Positions:
    """Split an axis into several, one length of which may be -1, to be inferred."""
    require(len(sizes) > 0, "an axis becomes at least one")
    axis %= positions.ndim
    inner = np.empty(positions.shape[axis]).reshape(sizes).shape
    return positions.reshape(*positions.shape[:axis], *inner, *positions.shape[axis + 1 :])


def expand(positions: Positions, *, shape: tuple[int, ...]) -> Positions:
    """Broadcast to ``shape``, in which -1 keeps a length."""
    have = (*(-1,) * (len(shape) - positions.ndim), *positions.shape)
    require(len(have) == len(shape), "an axis is missing")
    return np.broadcast_to(positions, [h if n == -1 else n for n, h in zip(shape, have, strict=True)])


def broadcast_arrays(*arrays: Positions) -> Positions:
    """Broadcast all arrays to one shape, and stack them."""
    return np.stack(np.broadcast_arrays(*arrays))


def meshgrid(*arrays: Positions, indexing: Literal["xy", "ij"]) -> Positions:
    """Return the coordinates of a grid, one array for each vector, in a stack."""
    require(all(x.ndim == 1 for x in arrays), "the coordinates of an axis are a vector")
    refuse_size(len(arrays) * prod(x.size for x in arrays))
    return np.stack(np.meshgrid(*arrays, indexing=indexing))


@moved_between_blanks
def block_diag(*arrays: Positions) -> Positions:
    """Return the block-diagonal matrix of the arrays; vectors are rows."""
    require(all(x.ndim < 3 for x in arrays), "a block is a matrix")  # noqa: PLR2004 (the rank of a matrix is two)
    blocks = [np.atleast_2d(x) for x in arrays]
    result = blanks(*(sum(x.shape[i] for x in blocks) for i in (0, 1)))
    row = column = 0
    for x in blocks:
        result[row : row + x.shape[0], column : column + x.shape[1]] = x
        row, column = row + x.shape[0], column + x.shape[1]
    return result


def part_of(parts: Sequence[Positions], part: int) -> Positions:
    """Return the part with index ``part``. Raises ValueError if there is none."""
    require(-len(parts) <= part < len(parts), f"there are {len(parts)} parts, and none is number {part}")
    return parts[part]


def array_split(positions: Positions, *, axis: int, sections: int, part: int) -> Positions:
    """Return one of ``sections`` parts of an axis; the first are longer by one if they cannot be equal."""
    return part_of(np.array_split(positions, sections, axis), part)


def split_at(positions: Positions, *, axis: int, points: tuple[int, ...], part: int) -> Positions:
    """Return one of the parts of an axis that is split before each of the points."""
    return part_of(np.split(positions, points, axis), part)


def split_by_size(positions: Positions, *, axis: int, size: int, part: int) -> Positions:
    """Split an axis into parts of length ``size`` and return one. The last may be shorter. An empty axis is a part."""
    points = range(size, positions.shape[axis], size)
    return part_of(np.split(positions, list(points), axis), part)


def chunk(positions: Positions, *, axis: int, chunks: int, part: int) -> Positions:
    """Return one of at most ``chunks`` parts of length ceil(n / chunks), where n is the length of the axis."""
    if positions.shape[axis] == 0:
        return part_of([positions] * chunks, part)
    return split_by_size(positions, axis=axis, size=-(-positions.shape[axis] // chunks), part=part)


def unstack(positions: Positions, *, axis: int, position: int) -> Positions:
    """Return one of the arrays that are stacked along an axis."""
    return np.asarray(np.take(positions, position, axis))


select = unstack


def pixel_shuffle(positions: Positions, *, factor: int) -> Positions:
    """Move channels into blocks of ``factor`` by ``factor`` pixels."""
    *lead, channels, height, width = positions.shape
    require(channels % factor**2 == 0, "the channels do not fill blocks")
    blocks = positions.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return blocks.transpose(order).reshape(*lead, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(positions: Positions, *, factor: int) -> Positions:
    """Move blocks of ``factor`` by ``factor`` pixels into channels."""
    *lead, channels, height, width = positions.shape
    require(height % factor == width % factor == 0, "blocks do not fill the picture")
    blocks = positions.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return blocks.transpose(order).reshape(*lead, channels * factor**2, height // factor, width // factor)


def channel_shuffle(positions: Positions, *, groups: int) -> Positions:
    """Reorder channels by taking one from each group in turn."""
    lead, channels, *rest = positions.shape
    require(channels % groups == 0, "the channels do not fill groups")
    return positions.reshape(lead, groups, channels // groups, *rest).swapaxes(1, 2).reshape(positions.shape)
