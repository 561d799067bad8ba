"""Indexing of arrays, and its reverse rules, which add a cotangent at the indices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from refgrad.operators.structure import Cotangents, RecordedNode, Shape, Structure

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
