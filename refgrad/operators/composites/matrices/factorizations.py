"""Factors, spectra, norms and exponentials of small matrices, by steps that can be certified.

As in ``linear_algebra``, the steps are algebraic formulas in reflected coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.matrices.contractions import swapped
from refgrad.operators.composites.matrices.linear_algebra import (
    LARGEST,
    Grid,
    column,
    matrix,
    number,
    reflected,
    square,
)

SCALING, TERMS = 4, 40
"""Number of squarings, and index of the last term, of the series of the matrix exponential.

exp(A) is exp(A / 16) ** 16. With entries of at most 1.5 and at most three rows, the norm of A / 16 is below 0.29, and
the remainder of the series, about 0.29 ** 41 / 41!, below 2 ** -235.
"""


def cholesky_gram(ops: Operators, x: Any) -> Any:
    """Return lower triangular L with L Lᵀ = x xᵀ + 1 and a positive diagonal (Cholesky, Banachiewicz)."""
    size = x.shape[-2]
    gram = square(ops, ops.add(ops.matmul(x, swapped(ops, x)), ops.constant(np.eye(size))))
    lower: Grid = [[ops.multiply(gram[0][0], 0.0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = gram[i][j]
            for k in range(j):
                rest = ops.subtract(rest, ops.multiply(lower[i][k], lower[j][k]))
            lower[i][j] = ops.sqrt(rest) if i == j else ops.divide(rest, lower[j][j])
    return matrix(ops, lower)


def orthogonalized(ops: Operators, x: Any) -> tuple[list[Any], Grid]:
    """Return the orthonormal columns and the triangular factor with a positive diagonal (modified Gram-Schmidt).

    Raises ValueError for more columns than rows.
    """
    rows, columns = x.shape[-2:]
    if not 0 < columns <= min(rows, LARGEST) or rows > LARGEST + 1:
        raise ValueError(f"{rows} by {columns} matrices are not written out")
    before = (slice(None),) * (len(x.shape) - 1)
    rest = [ops.index(x, index=(*before, j)) for j in range(columns)]
    zero = ops.multiply(ops.index(x, index=(*before[:-1], 0, 0)), 0.0)
    basis: list[Any] = []
    upper: Grid = [[zero] * columns for _ in range(columns)]
    for i in range(columns):
        upper[i][i] = ops.sqrt(ops.sum(ops.square(rest[i]), axis=-1))
        basis.append(ops.divide(rest[i], column(ops, upper[i][i])))
        for j in range(i + 1, columns):
            upper[i][j] = ops.sum(ops.multiply(basis[i], rest[j]), axis=-1)
            rest[j] = ops.subtract(rest[j], ops.multiply(basis[i], column(ops, upper[i][j])))
    return basis, upper


def qr_q(ops: Operators, x: Any) -> Any:
    """Return orthonormal columns Q with x = Q R."""
    return ops.stack(*orthogonalized(ops, x)[0], axis=-1)


def qr_r(ops: Operators, x: Any) -> Any:
    """Return triangular R with a positive diagonal and x = Q R."""
    return matrix(ops, orthogonalized(ops, x)[1])


def length(ops: Operators, x: Any, y: Any) -> Any:
    """Return the length of the vector (x, y)."""
    return ops.sqrt(ops.add(ops.square(x), ops.square(y)))


def half_lengths(ops: Operators, x: Any) -> tuple[Any, Any]:
    """Return the scale factors of the parts of a 2 by 2 matrix that preserve and that reverse orientation.

    Their sum and the absolute value of their difference are the singular values.
    """
    (a, b), (c, d) = square(ops, ops.multiply(x, 0.5), 2)
    keeping = length(ops, ops.add(a, d), ops.subtract(c, b))
    reversing = length(ops, ops.subtract(a, d), ops.add(c, b))
    return keeping, reversing


def eigvalsh(ops: Operators, x: Any) -> Any:
    """Return the eigenvalues of (x + xᵀ) / 2 in increasing order, for up to two rows: mean minus and plus a radius."""
    grid = square(ops, x, 2)
    if len(grid) == 1:
        return ops.reshape(x, shape=x.shape[:-1])
    (a, b), (c, d) = grid
    mean = ops.multiply(ops.add(a, d), 0.5)
    radius = length(ops, ops.multiply(ops.subtract(a, d), 0.5), ops.multiply(ops.add(b, c), 0.5))
    return ops.stack(ops.subtract(mean, radius), ops.add(mean, radius), axis=-1)


def svdvals(ops: Operators, x: Any) -> Any:
    """Return the singular values of matrices with up to two rows, in decreasing order."""
    if x.shape[-1] == 1:
        return ops.abs(ops.reshape(x, shape=x.shape[:-1]))
    keeping, reversing = half_lengths(ops, x)
    return ops.stack(ops.add(keeping, reversing), ops.abs(ops.subtract(keeping, reversing)), axis=-1)


def matrix_exp(ops: Operators, x: Any) -> Any:
    """Return the matrix exponential by its series, with scaling and squaring."""
    size = x.shape[-1]
    if not 0 < size <= LARGEST:
        raise ValueError(f"matrices of shape {x.shape} are not written out")
    one = ops.constant(np.eye(size))
    scaled = ops.multiply(x, 0.5**SCALING)
    result = one
    for term in range(TERMS, 0, -1):
        result = ops.add(ops.matmul(scaled, ops.divide(result, float(term))), one)
    for _ in range(SCALING):
        result = ops.matmul(result, result)
    return result


def frobenius(ops: Operators, x: Any) -> Any:
    """Return the square root of the sum of squares."""
    return ops.sqrt(ops.sum(ops.square(x), axis=(-2, -1)))


def of_sums(choose: str, axis: int) -> Callable[[Operators, Any], Any]:
    """Return the norm by the max or min (``choose``) of the sums of absolute values along an axis."""
    return lambda ops, x: getattr(ops, choose)(ops.sum(ops.abs(x), axis=axis), axis=-1)


def of_singular_values(choose: str) -> Callable[[Operators, Any], Any]:
    """Return the norm that is the largest, the smallest or the sum of the singular values of 2 by 2 matrices."""

    def norm(ops: Operators, x: Any) -> Any:
        if x.shape[-2:] != (2, 2):
            raise ValueError(f"the singular values of {x.shape} are not written out")
        keeping, reversing = half_lengths(ops, x)
        sum_, difference = ops.add(keeping, reversing), ops.abs(ops.subtract(keeping, reversing))
        return {"max": sum_, "min": difference}[choose] if choose != "sum" else ops.add(sum_, difference)

    return norm


NORMS: Mapping[str, Callable[[Operators, Any], Any]] = MappingProxyType({
    "fro": frobenius,
    "1": of_sums("max", -2),
    "-1": of_sums("min", -2),
    "inf": of_sums("max", -1),
    "-inf": of_sums("min", -1),
    "2": of_singular_values("max"),
    "-2": of_singular_values("min"),
    "nuc": of_singular_values("sum"),
})


def matrix_norm(ops: Operators, x: Any, *, order: str) -> Any:
    """Return the norm of each matrix: Frobenius, of column or row sums, or of singular values.

    Raises ValueError for matrices without entries.
    """
    if 0 in x.shape[-2:]:
        raise ValueError("matrices have no entries")
    return NORMS[order](ops, x)


def spread_matrix_norm(ops: Operators, x: Any, *, order: str) -> Any:
    """Return :func:`matrix_norm`, in reflected coordinates if the norm is invariant under reflections."""
    return matrix_norm(ops, reflected(ops, x) if order in {"2", "-2", "nuc"} else x, order=order)


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "cholesky_gram": Composite(cholesky_gram),
    "qr_q": Composite(lambda ops, x: reflected(ops, qr_q(ops, reflected(ops, x, -2)), -2), qr_q),
    "qr_r": Composite(lambda ops, x: qr_r(ops, reflected(ops, x, -2)), qr_r),
    "eigvalsh": number(eigvalsh),
    "svdvals": number(svdvals),
    "matrix_exp": Composite(matrix_exp),
    "matrix_norm": Composite(spread_matrix_norm, matrix_norm),
})
