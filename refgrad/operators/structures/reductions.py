"""Reductions and matrix products with their rules."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from refgrad.operators.operator import Cotangents, RecordedNode, Shape, Structure
from refgrad.operators.structures.shapes import sum_to

Axes = None | int | tuple[int, ...]


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
    size = 1
    for a in reduced_axes(axis, len(shape)):
        size *= shape[a]
    return size


def add_reduce(_system: Any, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the sum of the entries along ``axis``."""
    return np.add.reduce(x, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]


def sum_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return the sum's cotangent for every summand."""
    (shape,) = node.shapes
    kept = ops.reshape(cotangent, shape=kept_shape(shape, node.attributes["axis"]))
    return (ops.broadcast_to(kept, shape=shape),)


def mean_forward(_system: Any, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the arithmetic mean of the entries along ``axis``."""
    return add_reduce(_system, x, axis=axis, keepdims=keepdims) / size_along(x.shape, axis)


def mean_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return the mean's cotangent, divided by the number of entries, for every entry."""
    (spread,) = sum_vjp(ops, cotangent, node)
    return (spread / size_along(node.shapes[0], node.attributes["axis"]),)


def multiply_reduce(_system: Any, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the product of the entries along ``axis``."""
    return np.multiply.reduce(x, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]


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
    return (ops.transpose(moved, axes=tuple(int(i) for i in np.argsort(rest + axes))),)


def maximum_reduce(system: Any, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the largest entry along ``axis``."""
    return _reduce(system.maximum, x, axis, keepdims=keepdims)


def minimum_reduce(system: Any, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the smallest entry along ``axis``."""
    return _reduce(system.minimum, x, axis, keepdims=keepdims)


def extremum_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Share the cotangent equally among the entries that attain the extremum (the row's edge states the convention)."""
    (shape,) = node.shapes
    axis = node.attributes["axis"]
    kept = kept_shape(shape, axis)
    attains = ops.equal(node.saved("x"), ops.reshape(node.saved("out"), shape=kept))
    share = attains / np.add.reduce(attains, axis=reduced_axes(axis, len(shape)), keepdims=True)
    return (ops.reshape(cotangent, shape=kept) * share,)


def _reduce(function: Any, x: Any, axis: Axes, *, keepdims: bool) -> Any:
    """Reduce one axis after the other: functions of Python objects cannot reduce several axes at once."""
    result = x
    for a in reversed(reduced_axes(axis, x.ndim)):
        result = function.reduce(result, axis=a, keepdims=keepdims)
    return result


SUM = Structure(add_reduce, sum_vjp)
MEAN = Structure(mean_forward, mean_vjp)
PROD = Structure(multiply_reduce, prod_vjp, {"x": ("x",)})
MAX = Structure(maximum_reduce, extremum_vjp, {"x": ("x", "out")})
MIN = Structure(minimum_reduce, extremum_vjp, {"x": ("x", "out")})


def matmul_forward(_system: Any, x: Any, y: Any) -> Any:
    """Return the product of matrices, vectors or broadcasting stacks of matrices, as ``numpy.matmul`` defines it."""
    return np.matmul(x, y)


def matmul_vjp(ops: Any, cotangent: Any, node: RecordedNode) -> Cotangents:
    """Return G Yᵀ for X and Xᵀ G for Y, where Z = X Y; a vector X counts as a row, a vector Y as a column."""
    x_shape, y_shape = node.shapes
    row = x_shape if len(x_shape) > 1 else (1, *x_shape)
    column = y_shape if len(y_shape) > 1 else (*y_shape, 1)
    stack = np.broadcast_shapes(row[:-2], column[:-2])
    matrix = ops.reshape(cotangent, shape=(*stack, row[-2], column[-1]))
    for_x = for_y = None
    if node.needs[0]:
        y = _swapped(ops, ops.reshape(node.saved("y"), shape=column))
        for_x = ops.reshape(sum_to(ops, ops.matmul(matrix, y), row), shape=x_shape)
    if node.needs[1]:
        x = _swapped(ops, ops.reshape(node.saved("x"), shape=row))
        for_y = ops.reshape(sum_to(ops, ops.matmul(x, matrix), column), shape=y_shape)
    return for_x, for_y


def _swapped(ops: Any, matrices: Any) -> Any:
    rank = len(matrices.shape)
    axes: Shape = (*range(rank - 2), rank - 1, rank - 2)
    return ops.transpose(matrices, axes=axes)


def matmul_size(x: Shape, y: Shape) -> int:
    """Return the number of entries of a product of matrices or of stacks of them."""
    return prod(np.broadcast_shapes(x[:-2], y[:-2])) * prod(x[-2:-1]) * prod(y[-1:] if len(y) > 1 else ())


MATMUL = Structure(matmul_forward, matmul_vjp, {"x": ("y",), "y": ("x",)}, matmul_size)
