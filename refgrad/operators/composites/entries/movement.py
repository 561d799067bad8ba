"""Composites that move, repeat and join entries: padding, tiling, rolling, rotating, splitting, merging axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.entries.rearrangement import (
    BLANK,
    Places,
    blanks,
    filled,
    joined,
    joined_between_zeros,
    moved,
    moved_between_zeros,
    places_of,
    required,
)
from refgrad.operators.structure import refuse_size

Pair = tuple[int, int]


def pad(ops: Operators, x: Any, *, pad_width: tuple[Pair, ...], value: float) -> Any:
    """Pad each axis with ``value`` before and after its entries. Raises ValueError for a scalar."""
    required(len(x.shape) > 0, "a scalar has nothing around it")
    return constant_pad(ops, x, pad_width=pad_width, value=value)


def constant_pad(ops: Operators, x: Any, *, pad_width: tuple[Pair, ...], value: float) -> Any:
    """Pad each axis with ``value`` before and after its entries; a negative width cuts entries off."""
    (places,) = places_of(x.shape)
    required(len(pad_width) == len(x.shape), "pad_width needs a pair of widths for each axis")
    cuts = [(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, pad_width, strict=True)]
    required(all(start <= stop for start, stop in cuts), "more is cut off than there is")
    cut = places[tuple(slice(*pair) for pair in cuts)]
    widths = [(max(0, a), max(0, b)) for a, b in pad_width]
    return filled(ops, [x], np.pad(cut, widths, constant_values=BLANK) if widths else cut, value)


def pad_by_copies(places: Places, *, pad_width: tuple[Pair, ...], mode: Literal["reflect", "edge", "wrap"]) -> Places:
    """Pad each axis with copies of entries: mirrored without the border, of the border, or from the other side."""
    required(len(pad_width) == places.ndim, "pad_width needs a pair of widths for each axis")
    room = {"reflect": -1, "edge": 1 << 30, "wrap": 0}[mode]
    for length, pair in zip(places.shape, pad_width, strict=True):
        required(min(pair) >= 0 and max(pair) <= length + room and (length > 0 or mode != "edge"), "too wide a border")
    return np.pad(places, pad_width, mode=mode) if pad_width else places


def repeat(places: Places, *, repeats: int | tuple[int, ...], axis: int | None) -> Places:
    """Repeat every entry of an axis several times in a row."""
    return np.repeat(places, repeats, axis=axis)


def roll(places: Places, *, axis: Any, shift: Any) -> Places:
    """Shift entries along axes; those moved beyond one end come back at the other."""
    return np.roll(places, shift, axis)


def moveaxis(places: Places, *, source: Any, destination: Any) -> Places:
    """Move axes to other positions; the others keep their order."""
    return np.moveaxis(places, source, destination)


def diagonal(places: Places, *, offset: int, axes: Pair) -> Places:
    """Return a diagonal of two axes as a new last axis; ``offset`` counts to the right, or down if negative."""
    return np.diagonal(places, offset, *axes)


def diag_embed(places: Places, *, offset: int, axes: Pair) -> Places:
    """Return matrices with the last axis as diagonal; their rows and columns are ``axes`` of the result."""
    length = places.shape[-1]
    result = blanks(*places.shape[:-1], length + abs(offset), length + abs(offset))
    rows = np.arange(length) + max(0, -offset)
    result[..., rows, rows + offset] = places
    return np.moveaxis(result, (-2, -1), axes)


def diag(places: Places, *, k: int) -> Places:
    """Return the matrix with a vector as its diagonal, or the diagonal of a matrix."""
    if places.ndim == 1:
        return diag_embed(places, offset=k, axes=(0, 1))
    required(places.ndim == 2, "diag takes a vector or a matrix")  # noqa: PLR2004 (the rank of a matrix)
    return np.diagonal(places, k)


def tril(places: Places, *, k: int) -> Places:
    """Keep the entries on and below a diagonal of the last two axes; the others are BLANK."""
    required(places.ndim > 1, "there are no rows and columns")
    return np.where(np.tri(places.shape[-2], places.shape[-1], k, dtype=bool), places, BLANK)


def triu(places: Places, *, k: int) -> Places:
    """Keep the entries on and above a diagonal of the last two axes; the others are BLANK."""
    required(places.ndim > 1, "there are no rows and columns")
    return np.where(np.tri(places.shape[-2], places.shape[-1], k - 1, dtype=bool), BLANK, places)


def flatten(places: Places, *, start_dim: int, end_dim: int) -> Places:
    """Merge the axes from ``start_dim`` to ``end_dim``; a scalar becomes a vector."""
    rank = max(1, places.ndim)
    required(-rank <= min(start_dim, end_dim) and max(start_dim, end_dim) < rank, "there is no such axis")
    start, end = start_dim % rank, end_dim % rank
    required(start <= end, "the last axis comes before the first")
    middle = prod(places.shape[start : end + 1])
    return places.reshape(*places.shape[:start], middle, *places.shape[end + 1 :])


def unflatten(places: Places, *, axis: int, sizes: tuple[int, ...]) -> Places:
    """Split an axis into several, one length of which may be -1, to be inferred."""
    required(len(sizes) > 0, "an axis becomes at least one")
    axis %= places.ndim
    inner = np.empty(places.shape[axis]).reshape(sizes).shape
    return places.reshape(*places.shape[:axis], *inner, *places.shape[axis + 1 :])


def expand(places: Places, *, shape: tuple[int, ...]) -> Places:
    """Broadcast to ``shape``, in which -1 keeps a length."""
    have = (*(-1,) * (len(shape) - places.ndim), *places.shape)
    required(len(have) == len(shape), "an axis is missing")
    return np.broadcast_to(places, [h if n == -1 else n for n, h in zip(shape, have, strict=True)])


def broadcast_arrays(*arrays: Places) -> Places:
    """Broadcast all arrays to one shape, and stack them."""
    return np.stack(np.broadcast_arrays(*arrays))


def meshgrid(*arrays: Places, indexing: Literal["xy", "ij"]) -> Places:
    """Return the coordinates of a grid, one array for each vector, in a stack."""
    required(all(x.ndim == 1 for x in arrays), "the coordinates of an axis are a vector")
    refuse_size(len(arrays) * prod(x.size for x in arrays))
    return np.stack(np.meshgrid(*arrays, indexing=indexing))


def block_diag(*arrays: Places) -> Places:
    """Return the block-diagonal matrix of the arrays; vectors are rows."""
    required(all(x.ndim < 3 for x in arrays), "a block is a matrix")  # noqa: PLR2004 (the rank of a matrix is two)
    blocks = [np.atleast_2d(x) for x in arrays]
    result = blanks(*(sum(x.shape[i] for x in blocks) for i in (0, 1)))
    row = column = 0
    for x in blocks:
        result[row : row + x.shape[0], column : column + x.shape[1]] = x
        row, column = row + x.shape[0], column + x.shape[1]
    return result


def part_of(parts: Sequence[Places], part: int) -> Places:
    """Return the part with index ``part``. Raises ValueError if there is none."""
    required(-len(parts) <= part < len(parts), f"there are {len(parts)} parts, and none is number {part}")
    return parts[part]


def array_split(places: Places, *, axis: int, sections: int, part: int) -> Places:
    """Return one of ``sections`` parts of an axis; the first are longer by one if they cannot be equal."""
    return part_of(np.array_split(places, sections, axis), part)


def split_at(places: Places, *, axis: int, points: tuple[int, ...], part: int) -> Places:
    """Return one of the parts of an axis that is split before each of the points."""
    return part_of(np.split(places, points, axis), part)


def split_by_size(places: Places, *, axis: int, size: int, part: int) -> Places:
    """Return one of the parts of length ``size``, the last of which may be shorter; an empty axis is one part."""
    points = range(size, places.shape[axis], size)
    return part_of(np.split(places, list(points), axis), part)


def chunk(places: Places, *, axis: int, chunks: int, part: int) -> Places:
    """Return one of at most ``chunks`` parts of length ceil(n / chunks), where n is the length of the axis."""
    if places.shape[axis] == 0:
        return part_of([places] * chunks, part)
    return split_by_size(places, axis=axis, size=-(-places.shape[axis] // chunks), part=part)


def unstack(places: Places, *, axis: int, position: int) -> Places:
    """Return one of the arrays that are stacked along an axis."""
    picked: Places = np.take(places, position, axis)
    return picked


def pixel_shuffle(places: Places, *, factor: int) -> Places:
    """Move channels into blocks of ``factor`` by ``factor`` pixels."""
    *lead, channels, height, width = places.shape
    required(channels % factor**2 == 0, "the channels do not fill blocks")
    blocks = places.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return blocks.transpose(order).reshape(*lead, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(places: Places, *, factor: int) -> Places:
    """Move blocks of ``factor`` by ``factor`` pixels into channels."""
    *lead, channels, height, width = places.shape
    required(height % factor == width % factor == 0, "blocks do not fill the picture")
    blocks = places.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return blocks.transpose(order).reshape(*lead, channels * factor**2, height // factor, width // factor)


def channel_shuffle(places: Places, *, groups: int) -> Places:
    """Reorder channels by taking one from each group in turn."""
    lead, channels, *rest = places.shape
    required(channels % groups == 0, "the channels do not fill groups")
    return places.reshape(lead, groups, channels // groups, *rest).swapaxes(1, 2).reshape(places.shape)


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "pad": Composite(pad),
    "constant_pad": Composite(constant_pad),
    "pad_by_copies": moved(pad_by_copies),
    "tile": moved(lambda places, *, reps: np.tile(places, reps)),
    "repeat": moved(repeat),
    "repeat_interleave": moved(repeat),
    "roll": moved(roll),
    "moveaxis": moved(moveaxis),
    "swapaxes": moved(lambda places, *, axis1, axis2: np.swapaxes(places, axis1, axis2)),
    "rot90": moved(lambda places, *, k, axes: np.rot90(places, k, axes)),
    "fliplr": moved(np.fliplr),
    "flipud": moved(np.flipud),
    "diagonal": moved(diagonal),
    "diag": moved_between_zeros(diag),
    "diag_embed": moved_between_zeros(diag_embed),
    "tril": moved_between_zeros(tril),
    "triu": moved_between_zeros(triu),
    "ravel": moved(np.ravel),
    "flatten": moved(flatten),
    "unflatten": moved(unflatten),
    "squeeze_all": moved(np.squeeze),
    "atleast_1d": moved(np.atleast_1d),
    "atleast_2d": moved(np.atleast_2d),
    "atleast_3d": moved(np.atleast_3d),
    "expand": moved(expand),
    "broadcast_arrays": joined(broadcast_arrays),
    "meshgrid": joined(meshgrid),
    "hstack": joined(lambda *arrays: np.hstack(arrays)),
    "vstack": joined(lambda *arrays: np.vstack(arrays)),
    "dstack": joined(lambda *arrays: np.dstack(arrays)),
    "column_stack": joined(lambda *arrays: np.column_stack(arrays)),
    "block_diag": joined_between_zeros(block_diag),
    "array_split": moved(array_split),
    "split_at": moved(split_at),
    "split_by_size": moved(split_by_size),
    "chunk": moved(chunk),
    "unstack": moved(unstack),
    "pixel_shuffle": moved(pixel_shuffle),
    "pixel_unshuffle": moved(pixel_unshuffle),
    "channel_shuffle": moved(channel_shuffle),
})
