"""Operators that change shapes or select entries by an index, with their rules."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from refgrad.operators.operator import Cotangents, RecordedNode, Shape, Structure


def sum_to(ops: Any, cotangent: Any, shape: Shape) -> Any:
    """Undo broadcasting: sum ``cotangent`` over the axes along which ``shape`` was broadcast."""
    have = cotangent.shape
    if have == shape:
        return cotangent
    lead = len(have) - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1)
    return ops.reshape(ops.sum(cotangent, axis=axes, keepdims=False), shape=shape)


def reshape_forward(_system: Any, x: Any, *, shape: Shape) -> Any:
    """Return the entries in row-major order in another shape; one length of ``shape`` may be -1."""
    return np.reshape(x, shape)


def reshape_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Reshape the cotangent to the shape of the argument."""
    return (ops.reshape(cotangent, shape=node.shapes[0]),)


def transpose_forward(_system: Any, x: Any, *, axes: tuple[int, ...] | None) -> Any:
    """Permute the axes; None reverses their order."""
    return np.transpose(x, axes)


def transpose_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Apply the inverse permutation."""
    axes = node.attributes["axes"]
    if axes is None:
        return (ops.transpose(cotangent, axes=None),)
    rank = len(axes)
    inverse = np.argsort([a % rank for a in axes])
    return (ops.transpose(cotangent, axes=tuple(int(i) for i in inverse)),)


def broadcast_forward(_system: Any, x: Any, *, shape: Shape) -> Any:
    """Broadcast to ``shape``: stretch axes of length one, and add leading axes."""
    return np.broadcast_to(x, shape)


def broadcast_size(_: Shape, *, shape: Shape) -> int:
    """Return the number of entries after broadcasting."""
    return prod(shape)


def broadcast_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Sum the cotangent over the axes that were broadcast."""
    return (sum_to(ops, cotangent, node.shapes[0]),)


def expand_dims_forward(_system: Any, x: Any, *, axis: int) -> Any:
    """Insert an axis of length one."""
    return np.expand_dims(x, axis)


def squeeze_forward(_system: Any, x: Any, *, axis: int) -> Any:
    """Remove an axis of length one."""
    return np.squeeze(x, axis)


def flip_forward(_system: Any, x: Any, *, axis: int | tuple[int, ...] | None) -> Any:
    """Reverse the order along the axes (all of them where ``axis`` is None)."""
    return np.flip(x, axis)


def flip_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Flip the cotangent along the same axes."""
    return (ops.flip(cotangent, axis=node.attributes["axis"]),)


def concatenate_forward(_system: Any, *arrays: Any, axis: int) -> Any:
    """Join arrays along an existing axis."""
    return np.concatenate(arrays, axis=axis)


def concatenate_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return each operand's own slice of the cotangent."""
    axis = node.attributes["axis"] % len(node.shapes[0])
    ends = np.cumsum([shape[axis] for shape in node.shapes])
    before = (slice(None),) * axis
    return tuple(
        ops.index(cotangent, index=(*before, slice(int(end) - shape[axis], int(end)))) if needed else None
        for end, shape, needed in zip(ends, node.shapes, node.needs, strict=True)
    )


def stack_forward(_system: Any, *arrays: Any, axis: int) -> Any:
    """Join arrays of one shape along a new axis."""
    return np.stack(arrays, axis=axis)


def stack_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return, for each operand, the cotangent at its index of the new axis."""
    axis = node.attributes["axis"] % (len(node.shapes[0]) + 1)
    before = (slice(None),) * axis
    return tuple(
        ops.index(cotangent, index=(*before, position)) if needed else None
        for position, needed in enumerate(node.needs)
    )


RESHAPE = Structure(reshape_forward, reshape_vjp)
TRANSPOSE = Structure(transpose_forward, transpose_vjp)
BROADCAST_TO = Structure(broadcast_forward, broadcast_vjp, size=broadcast_size)
EXPAND_DIMS = Structure(expand_dims_forward, reshape_vjp)
SQUEEZE = Structure(squeeze_forward, reshape_vjp)
FLIP = Structure(flip_forward, flip_vjp)
CONCATENATE = Structure(concatenate_forward, concatenate_vjp)
STACK = Structure(stack_forward, stack_vjp)


Position = int | slice | tuple[Any, ...]


def numpy_index(index: tuple[Position, ...]) -> tuple[Any, ...]:
    """Convert nested tuples of integers, as attributes store them, to integer arrays."""
    return tuple(np.asarray(item, dtype=np.intp) if isinstance(item, tuple) else item for item in index)


def index_forward(_system: Any, x: Any, *, index: tuple[Position, ...]) -> Any:
    """Return a copy of ``x[index]``: integers, slices with any step, integer arrays with repeated entries.

    The ellipsis after the index makes a single entry an array, so that numpy does not convert an object that looks like
    a sequence.
    """
    return np.array(x[(*numpy_index(index), ...)])


def index_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Add the cotangent at the indices that were read; an entry that was read twice receives both."""
    return (ops.add_at(cotangent, shape=node.shapes[0], index=node.attributes["index"]),)


def take_forward(_system: Any, x: Any, *, axis: int, indices: tuple[Any, ...] | int) -> Any:
    """Return the entries of ``axis`` at integer ``indices``, which may repeat, be negative and have any shape."""
    return np.take(x, np.asarray(indices, dtype=np.intp), axis=axis)


def take_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Add the cotangent at the indices that were taken."""
    (shape,) = node.shapes
    before = (slice(None),) * (node.attributes["axis"] % len(shape))
    return (ops.add_at(cotangent, shape=shape, index=(*before, node.attributes["indices"])),)


def add_at_forward(_system: Any, x: Any, *, shape: Shape, index: tuple[Position, ...]) -> Any:
    """Return zeros of ``shape`` with ``x`` added at ``index``: the transpose of ``index`` and ``take``."""
    result = np.zeros(shape, dtype=x.dtype)
    indices = numpy_index(index)
    picked = result[(*indices, ...)].shape
    if picked != np.shape(x):
        raise ValueError(f"the index picks {picked} of {shape}, but there are {np.shape(x)} entries to add")
    np.add.at(result, indices, x)
    return result


def add_at_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Read the cotangent at the same indices."""
    return (ops.index(cotangent, index=node.attributes["index"]),)


def index_size(x: Shape, *, index: tuple[Position, ...]) -> int:
    """Return an upper bound on the number of entries that an index selects."""
    axis, picked, lists = 0, 1, []
    for item in index:
        if isinstance(item, tuple):
            lists.append(np.shape(item))
            picked *= x[axis]
        axis += item is not None
    return prod(np.broadcast_shapes(*lists)) * (prod(x) // max(picked, 1))


def take_size(x: Shape, *, axis: int, indices: tuple[Any, ...] | int) -> int:
    """Return the number of entries that are taken."""
    return np.size(indices) * prod(x) // max(x[axis], 1)


def add_at_size(_: Shape, *, shape: Shape, index: tuple[Position, ...]) -> int:  # noqa: ARG001 (an attribute)
    """Return the number of entries of the result."""
    return prod(shape)


INDEX = Structure(index_forward, index_vjp, size=index_size)
TAKE = Structure(take_forward, take_vjp, size=take_size)
ADD_AT = Structure(add_at_forward, add_at_vjp, size=add_at_size)
