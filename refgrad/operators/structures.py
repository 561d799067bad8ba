"""Structural operators and their rules: reductions, products of matrices, changes of shape, and indexing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from refgrad.operators.operator import Cotangents, RecordedNode, Shape, Structure

Axes = None | int | tuple[int, ...]
Position = int | slice | tuple[Any, ...]


def reduced_axes(axis: Axes, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction removes, each non-negative, in increasing order.

    Raises numpy's AxisError, a ValueError, for an axis that does not exist, and ValueError for one that is repeated.
    """
    if axis is None:
        return tuple(range(rank))
    if rank == 0:
        return ()  # numpy reduces a scalar along any axis
    return tuple(sorted(normalize_axis_tuple(axis, rank)))


def kept_shape(shape: Shape, axis: Axes) -> Shape:
    """Return the shape that the result has with ``keepdims``."""
    axes = reduced_axes(axis, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def size_along(shape: Shape, axis: Axes) -> int:
    """Return the number of entries that are reduced to one."""
    return prod(shape[a] for a in reduced_axes(axis, len(shape)))


def sum_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return the sum's cotangent for every summand."""
    (shape,) = node.shapes
    kept = ops.reshape(cotangent, shape=kept_shape(shape, node.attributes["axis"]))
    return (ops.broadcast_to(kept, shape=shape),)


def mean(x: Any, axis: Axes, *, keepdims: bool) -> Any:
    """Return the arithmetic mean of the entries along ``axis``."""
    return np.add.reduce(x, axis=axis, keepdims=keepdims) / size_along(x.shape, axis)  # type: ignore[call-overload]


def mean_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return the mean's cotangent, divided by the number of entries, for every entry."""
    (spread,) = sum_vjp(ops, cotangent, node)
    return (spread / size_along(node.shapes[0], node.attributes["axis"]),)


def prod_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return the cotangent times the product of the *other* factors, which is right even if a factor is zero.

    The reduced axes are moved to the end and flattened. Factor i is left out by replacing it with a one (ones on the
    diagonal of an n-by-n copy), so that nothing is divided and derivatives of all orders are right.
    """
    (shape,) = node.shapes
    axes = reduced_axes(node.attributes["axis"], len(shape))
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    n = size_along(shape, node.attributes["axis"])
    outer = tuple(shape[i] for i in rest)
    flat = ops.reshape(ops.transpose(node.saved("x"), axes=rest + axes), shape=(*outer, 1, n))
    others = ops.prod(ops.where(np.eye(n, dtype=bool), np.ones(()), flat), axis=(len(outer) + 1,), keepdims=False)
    spread = ops.reshape(cotangent, shape=(*outer, 1)) * others
    moved = ops.reshape(spread, shape=outer + tuple(shape[i] for i in axes))
    return (ops.transpose(moved, axes=_inverse(rest + axes)),)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(axes))


def extremum(name: str) -> Callable[..., Any]:
    """Return the function that reduces by ``maximum`` or ``minimum`` of a number system."""

    def reduced(system: Any, x: Any, *, axis: Axes, keepdims: bool) -> Any:
        for a in reversed(reduced_axes(axis, x.ndim)):  # functions of Python objects reduce only one axis at once
            x = getattr(system, name).reduce(x, axis=a, keepdims=keepdims)
        return x

    return reduced


def extremum_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Share the cotangent equally among the entries that attain the extremum (the row's edge states the convention)."""
    (shape,) = node.shapes
    axis = node.attributes["axis"]
    kept = kept_shape(shape, axis)
    attains = ops.equal(node.saved("x"), ops.reshape(node.saved("out"), shape=kept))
    share = attains / np.add.reduce(attains, axis=reduced_axes(axis, len(shape)), keepdims=True)
    return (ops.reshape(cotangent, shape=kept) * share,)


def matmul_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return G Yᵀ for X and Xᵀ G for Y, where Z = X Y; a vector X counts as a row, a vector Y as a column."""
    x_shape, y_shape = node.shapes
    row = x_shape if len(x_shape) > 1 else (1, *x_shape)
    column = y_shape if len(y_shape) > 1 else (*y_shape, 1)
    stack = np.broadcast_shapes(row[:-2], column[:-2])
    matrix = ops.reshape(cotangent, shape=(*stack, row[-2], column[-1]))
    for_x = for_y = None
    if node.needs[0]:
        y = swapped(ops, ops.reshape(node.saved("y"), shape=column))
        for_x = ops.reshape(sum_to(ops, ops.matmul(matrix, y), row), shape=x_shape)
    if node.needs[1]:
        x = swapped(ops, ops.reshape(node.saved("x"), shape=row))
        for_y = ops.reshape(sum_to(ops, ops.matmul(x, matrix), column), shape=y_shape)
    return for_x, for_y


def swapped(ops: Any, matrices: Any) -> Any:
    """Transpose each matrix of a stack."""
    rank = len(matrices.shape)
    return ops.transpose(matrices, axes=(*range(rank - 2), rank - 1, rank - 2))


def matmul_size(x: Shape, y: Shape) -> int:
    """Return the number of entries of a product of matrices or of stacks of them."""
    return prod(np.broadcast_shapes(x[:-2], y[:-2])) * prod(x[-2:-1]) * prod(y[-1:] if len(y) > 1 else ())


def sum_to(ops: Any, cotangent: Any, shape: Shape) -> Any:
    """Undo broadcasting: sum ``cotangent`` over the axes along which ``shape`` was broadcast."""
    have = cotangent.shape
    if have == shape:
        return cotangent
    lead = len(have) - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1)
    return ops.reshape(ops.sum(cotangent, axis=axes), shape=shape)


def reshaped(x: Any, shape: Shape) -> Any:
    """Return the entries in row-major order in another shape; one length of ``shape`` may be -1."""
    return np.reshape(x, shape)


def reshape_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Reshape the cotangent to the shape of the argument."""
    return (ops.reshape(cotangent, shape=node.shapes[0]),)


def transpose_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Apply the inverse permutation; None reverses the axes."""
    axes = node.attributes["axes"]
    inverse = None if axes is None else _inverse(tuple(a % len(axes) for a in axes))
    return (ops.transpose(cotangent, axes=inverse),)


def broadcast_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Sum the cotangent over the axes that were broadcast."""
    return (sum_to(ops, cotangent, node.shapes[0]),)


def flip_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Flip the cotangent along the same axes."""
    return (ops.flip(cotangent, axis=node.attributes["axis"]),)


def concatenate_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return each operand's own slice of the cotangent."""
    axis = node.attributes["axis"] % len(node.shapes[0])
    ends = np.cumsum([shape[axis] for shape in node.shapes])
    before = (slice(None),) * axis
    return tuple(
        ops.index(cotangent, index=(*before, slice(int(end) - shape[axis], int(end)))) if needed else None
        for end, shape, needed in zip(ends, node.shapes, node.needs, strict=True)
    )


def stack_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return, for each operand, the cotangent at its index of the new axis."""
    axis = node.attributes["axis"] % (len(node.shapes[0]) + 1)
    before = (slice(None),) * axis
    return tuple(
        ops.index(cotangent, index=(*before, position)) if needed else None
        for position, needed in enumerate(node.needs)
    )


def numpy_index(index: tuple[Position, ...]) -> tuple[Any, ...]:
    """Convert nested tuples of integers, as attributes store them, to integer arrays."""
    return tuple(np.asarray(item, dtype=np.intp) if isinstance(item, tuple) else item for item in index)


def indexed(x: Any, index: tuple[Position, ...]) -> Any:
    """Return a copy of ``x[index]``: integers, slices with any step, integer arrays with repeated entries.

    The ellipsis after the index makes a single entry an array, so that numpy does not convert an object that looks like
    a sequence.
    """
    return np.array(x[(*numpy_index(index), ...)])


def index_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Add the cotangent at the indices that were read; an entry that was read twice receives both."""
    return (ops.add_at(cotangent, shape=node.shapes[0], index=node.attributes["index"]),)


def index_size(x: Shape, *, index: tuple[Position, ...]) -> int:
    """Return an upper bound on the number of entries that an index selects."""
    axis, picked, lists = 0, 1, []
    for item in index:
        if isinstance(item, tuple):
            lists.append(np.shape(item))
            picked *= x[axis]
        axis += item is not None
    return prod(np.broadcast_shapes(*lists)) * (prod(x) // max(picked, 1))


def taken(x: Any, axis: int, indices: tuple[Any, ...] | int) -> Any:
    """Return the entries of ``axis`` at integer ``indices``, which may repeat, be negative and have any shape."""
    return np.take(x, np.asarray(indices, dtype=np.intp), axis=axis)


def take_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Add the cotangent at the indices that were taken."""
    (shape,) = node.shapes
    before = (slice(None),) * (node.attributes["axis"] % len(shape))
    return (ops.add_at(cotangent, shape=shape, index=(*before, node.attributes["indices"])),)


def take_size(x: Shape, *, axis: int, indices: tuple[Any, ...] | int) -> int:
    """Return the number of entries that are taken."""
    return np.size(indices) * prod(x) // max(x[axis], 1)


def added_at(x: Any, shape: Shape, index: tuple[Position, ...]) -> Any:
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


def shape_size(_: Shape, *, shape: Shape, index: Any = None) -> int:  # noqa: ARG001 (an attribute)
    """Return the number of entries of an array of ``shape``."""
    return prod(shape)


STRUCTURES: Mapping[str, Structure] = MappingProxyType({
    "sum": Structure(np.add.reduce, sum_vjp),
    "mean": Structure(mean, mean_vjp),
    "prod": Structure(np.multiply.reduce, prod_vjp, {"x": ("x",)}),
    "max": Structure(extremum("maximum"), extremum_vjp, {"x": ("x", "out")}, by_system=True),
    "min": Structure(extremum("minimum"), extremum_vjp, {"x": ("x", "out")}, by_system=True),
    "matmul": Structure(np.matmul, matmul_vjp, {"x": ("y",), "y": ("x",)}, matmul_size),
    "reshape": Structure(reshaped, reshape_vjp),
    "transpose": Structure(np.transpose, transpose_vjp),
    "broadcast_to": Structure(np.broadcast_to, broadcast_vjp, size=shape_size),
    "expand_dims": Structure(np.expand_dims, reshape_vjp),
    "squeeze": Structure(np.squeeze, reshape_vjp),
    "flip": Structure(np.flip, flip_vjp),
    "concatenate": Structure(lambda *arrays, axis: np.concatenate(arrays, axis=axis), concatenate_vjp),
    "stack": Structure(lambda *arrays, axis: np.stack(arrays, axis=axis), stack_vjp),
    "index": Structure(indexed, index_vjp, size=index_size),
    "take": Structure(taken, take_vjp, size=take_size),
    "add_at": Structure(added_at, add_at_vjp, size=shape_size),
})
"""The structures, by the names of their rows in ``specs/operators``."""
