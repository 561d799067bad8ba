"""Matrix products for every combination of ranks, and their reverse rule."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from refgrad.operators.structure import Cotangents, RecordedNode, Shape, Structure
from refgrad.operators.structures.shapes import sum_to


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
