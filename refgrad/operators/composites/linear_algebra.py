"""Composites of linear algebra: factorizations, and what they solve.

Matrices have at most three rows (four for a determinant). The formulas are algebraic and search no pivot, so no step
depends on the entries.

Engines factorize, which adds rounding errors of the size of the largest entries to every entry. The formulas would
round small entries much less, and no engine could meet such a budget. Therefore the certified steps work in other
coordinates: rows and columns are multiplied by a reflection whose entries are exact integers up to a divisor, and which
mixes every entry with the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from math import gcd
from typing import Any

import numpy as np

from refgrad.operators.composites.contractions import multi_dot
from refgrad.operators.operator import Operators, require
from refgrad.operators.structures import swapped

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
    fits = 0 < columns <= min(rows, LARGEST) and rows <= LARGEST + 1
    require(fits, f"{rows} by {columns} matrices are not written out")
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


def certified_qr_q(ops: Operators, x: Any) -> Any:
    """Return :func:`qr_q`, computed with reflected rows."""
    return reflected(ops, qr_q(ops, reflected(ops, x, -2)), -2)


def certified_qr_r(ops: Operators, x: Any) -> Any:
    """Return :func:`qr_r`, computed with reflected rows."""
    return qr_r(ops, reflected(ops, x, -2))


def length(ops: Operators, x: Any, y: Any) -> Any:
    """Return the length of the vector (x, y)."""
    return ops.sqrt(ops.add(ops.square(x), ops.square(y)))


def singular_values(ops: Operators, x: Any) -> tuple[Any, Any]:
    """Return the larger and the smaller singular value of a 2 by 2 matrix.

    They are the sum and the absolute difference of the scale factors of the parts of the matrix that preserve and that
    reverse orientation.
    """
    (a, b), (c, d) = square(ops, ops.multiply(x, 0.5), 2)
    keeping = length(ops, ops.add(a, d), ops.subtract(c, b))
    reversing = length(ops, ops.subtract(a, d), ops.add(c, b))
    return ops.add(keeping, reversing), ops.abs(ops.subtract(keeping, reversing))


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
    return ops.stack(*singular_values(ops, x), axis=-1)


def matrix_exp(ops: Operators, x: Any) -> Any:
    """Return the matrix exponential by its series, with scaling and squaring."""
    size = x.shape[-1]
    require(0 < size <= LARGEST, f"matrices of shape {x.shape} are not written out")
    one = ops.constant(np.eye(size))
    scaled = ops.multiply(x, 0.5**SCALING)
    result = one
    for term in range(TERMS, 0, -1):
        result = ops.add(ops.matmul(scaled, ops.divide(result, float(term))), one)
    for _ in range(SCALING):
        result = ops.matmul(result, result)
    return result


def matrix_norm(ops: Operators, x: Any, *, order: str) -> Any:
    """Return the norm of each matrix: Frobenius, of column or row sums, or of singular values.

    Raises ValueError for matrices without entries, and for singular values of matrices that are not 2 by 2.
    """
    require(0 not in x.shape[-2:], "matrices have no entries")
    if order == "fro":
        return ops.sqrt(ops.sum(ops.square(x), axis=(-2, -1)))
    if order in OF_SINGULAR_VALUES:
        return _norm_of_singular_values(ops, x, order)
    sums = ops.sum(ops.abs(x), axis=-1 if order.endswith("inf") else -2)
    return ops.min(sums, axis=-1) if order.startswith("-") else ops.max(sums, axis=-1)


OF_SINGULAR_VALUES = frozenset({"2", "-2", "nuc"})
"""Norms of singular values: the largest, the smallest, and their sum. Reflections do not change them."""


def _norm_of_singular_values(ops: Operators, x: Any, order: str) -> Any:
    require(x.shape[-2:] == (2, 2), f"the singular values of {x.shape} are not written out")
    largest, smallest = singular_values(ops, x)
    if order == "nuc":
        return ops.add(largest, smallest)
    return largest if order == "2" else smallest


def certified_matrix_norm(ops: Operators, x: Any, *, order: str) -> Any:
    """Return :func:`matrix_norm`, in reflected coordinates if the norm is invariant under reflections."""
    return matrix_norm(ops, reflected(ops, x) if order in OF_SINGULAR_VALUES else x, order=order)


Grid = list[list[Any]]
Steps = Callable[..., Any]

NORMALS = ((0,), (1, -2), (1, 1, 1), (1, 1, 1, 1))
"""For matrices of 1 to 4 rows, the normal of a reflection that mixes every entry with the others."""

LARGEST = len(NORMALS) - 1
"""Largest number of rows of a matrix whose formulas are written out; a determinant may have one row more."""


@cache
def reflection(size: int) -> tuple[Any, float]:
    """Return a reflection as a symmetric matrix of integers, and the divisor that makes it orthogonal."""
    normal = np.array(NORMALS[size - 1])
    square = max(1, int(normal @ normal))
    numerators = square * np.eye(size, dtype=int) - 2 * np.outer(normal, normal)
    factor = gcd(square, *numerators.ravel().tolist())
    return numerators // factor, float(square // factor)


def reflected(ops: Operators, x: Any, *axes: int) -> Any:
    """Multiply by a reflection from the left (axis -2) and from the right (axis -1); by default from both sides.

    Raises ValueError if there is none of that size.
    """
    for axis in axes or (-2, -1):
        require(0 < x.shape[axis] <= len(NORMALS), f"matrices of shape {x.shape} are not written out")
        numerators, divisor = reflection(x.shape[axis])
        factor = ops.constant(numerators)
        x = ops.divide(ops.matmul(factor, x) if axis == -2 else ops.matmul(x, factor), divisor)  # noqa: PLR2004 (rows)
    return x


def invariant(plain: Steps) -> Steps:
    """Return the certified steps of a matrix function that does not change if rows and columns are reflected."""
    return lambda ops, x: plain(ops, reflected(ops, x))


def inverse(plain: Steps) -> Steps:
    """Return the certified steps of a matrix function that exchanges the reflections of rows and columns."""
    return lambda ops, x: reflected(ops, plain(ops, reflected(ops, x)))


def solution(plain: Steps) -> Steps:
    """Return the certified steps of a function of a matrix and right-hand sides with equally reflected rows."""
    return lambda ops, x, y: reflected(ops, plain(ops, reflected(ops, x), reflected(ops, y, -2)), -2)


def entries(ops: Operators, x: Any, largest: int = LARGEST) -> Grid:
    """Return the entries of each matrix, as arrays over the stack. Raises ValueError for too large matrices."""
    rows, columns = x.shape[-2:]
    fits = 0 < min(rows, columns) <= largest and max(rows, columns) <= largest + 1
    require(fits, f"matrices of shape {rows, columns} are not written out")
    before = (slice(None),) * (len(x.shape) - 2)
    return [[ops.index(x, index=(*before, i, j)) for j in range(columns)] for i in range(rows)]


def square(ops: Operators, x: Any, largest: int = LARGEST) -> Grid:
    """Return the entries of square matrices. Raises ValueError for others and for those that are too large."""
    require(largest >= x.shape[-1] == x.shape[-2], f"matrices of shape {x.shape} are not written out")
    return entries(ops, x, largest)


def matrix(ops: Operators, grid: Grid) -> Any:
    """Stack entries into matrices."""
    return ops.stack(*(ops.stack(*row, axis=-1) for row in grid), axis=-2)


def determinant(ops: Operators, grid: Grid) -> Any:
    """Return the determinant by Laplace expansion along the first row."""
    if len(grid) == 1:
        return grid[0][0]
    terms = [ops.multiply(grid[0][j], cofactor(ops, grid, 0, j)) for j in range(len(grid))]
    return reduce(ops.add, terms)


def cofactor(ops: Operators, grid: Grid, i: int, j: int) -> Any:
    """Return the determinant without row i and column j, times (-1) ** (i + j)."""
    minor = [row[:j] + row[j + 1 :] for row in grid[:i] + grid[i + 1 :]]
    value = determinant(ops, minor)
    return ops.negative(value) if (i + j) % 2 else value


def det(ops: Operators, x: Any) -> Any:
    """Return the determinant of each matrix, of two to four rows. Raises ValueError for others."""
    require(x.shape[-1] != 1, "a single entry is its own determinant")
    return determinant(ops, square(ops, x, LARGEST + 1))


def logabsdet(ops: Operators, x: Any) -> Any:
    """Return the logarithm of the absolute value of the determinant."""
    return ops.log(ops.abs(determinant(ops, square(ops, x))))


def logdet(ops: Operators, x: Any) -> Any:
    """Return the logarithm of a positive determinant."""
    return ops.log(determinant(ops, square(ops, x)))


def one_like(ops: Operators, x: Any) -> Any:
    """Return ones that depend on ``x`` in the graph, with derivative zero."""
    return ops.add(ops.multiply(x, 0.0), 1.0)


def column(ops: Operators, x: Any) -> Any:
    """Add a last axis of length one."""
    return ops.reshape(x, shape=(*x.shape, 1))


def adjugate(ops: Operators, grid: Grid) -> Any:
    """Return the transposed cofactors: the inverse times the determinant."""
    size = len(grid)
    if size == 1:
        return one_like(ops, matrix(ops, grid))
    return matrix(ops, [[cofactor(ops, grid, j, i) for j in range(size)] for i in range(size)])


def over_determinant(ops: Operators, numerator: Any, grid: Grid) -> Any:
    """Divide matrices by determinants."""
    divisor = determinant(ops, grid)
    return ops.divide(numerator, ops.reshape(divisor, shape=(*divisor.shape, 1, 1)))


def inv(ops: Operators, x: Any) -> Any:
    """Return the inverse of each matrix: the adjugate over the determinant."""
    grid = square(ops, x)
    return over_determinant(ops, adjugate(ops, grid), grid)


def solve(ops: Operators, x: Any, y: Any) -> Any:
    """Return the matrix z with x z = y, by Cramer's rule."""
    grid = square(ops, x)
    return over_determinant(ops, ops.matmul(adjugate(ops, grid), y), grid)


def of_vector(plain: Steps) -> Steps:
    """Return the steps of a function of a matrix and a vector, by those of a matrix and right-hand sides."""
    return lambda ops, x, y: ops.reshape(plain(ops, x, column(ops, y)), shape=y.shape)


def solve_triangular(ops: Operators, x: Any, y: Any, *, upper: bool, unitriangular: bool) -> Any:
    """Return z with T z = y by substitution; T is a triangle of ``x``, with ones as diagonal if ``unitriangular``."""
    grid = square(ops, x)
    size, before = len(grid), (slice(None),) * (len(y.shape) - 2)
    rows: dict[int, Any] = {}
    for i in reversed(range(size)) if upper else range(size):
        row = ops.index(y, index=(*before, i))
        for j, entry in rows.items():
            row = ops.subtract(row, ops.multiply(column(ops, grid[i][j]), entry))
        rows[i] = ops.divide(row, column(ops, one_like(ops, grid[i][i]) if unitriangular else grid[i][i]))
    return ops.stack(*(rows[i] for i in range(size)), axis=-2)


def matrix_power(ops: Operators, x: Any, *, n: int) -> Any:
    """Return the ``n``-th power of a matrix, which is a power of its inverse if ``n`` is negative."""
    require(x.shape[-1] > 0, "matrices have no entries")
    if n < 0:
        return matrix_power(ops, inv(ops, x), n=-n)
    if n == 0:
        return ops.add(ops.multiply(x, 0.0), ops.constant(np.eye(x.shape[-1])))
    return multi_dot(ops, *[x] * n)


def certified_matrix_power(ops: Operators, x: Any, *, n: int) -> Any:
    """Return :func:`matrix_power`, computed in reflected coordinates if ``n`` is negative."""
    return reflected(ops, matrix_power(ops, reflected(ops, x), n=n)) if n < 0 else matrix_power(ops, x, n=n)


def pinv(ops: Operators, x: Any) -> Any:
    """Return the pseudoinverse of matrices of full rank: (xᵀ x)⁻¹ xᵀ, or xᵀ (x xᵀ)⁻¹ for more columns than rows."""
    if x.shape[-1] > x.shape[-2]:
        return swapped(ops, pinv(ops, swapped(ops, x)))
    entries(ops, x)
    return solve(ops, ops.matmul(swapped(ops, x), x), swapped(ops, x))


def lstsq(ops: Operators, x: Any, y: Any) -> Any:
    """Solve least squares by the normal equations. Raises ValueError for more unknowns than equations."""
    require(x.shape[-1] <= x.shape[-2], "more unknowns than equations")
    entries(ops, x)
    return solve(ops, ops.matmul(swapped(ops, x), x), ops.matmul(swapped(ops, x), y))


def trace(ops: Operators, x: Any, *, offset: int, axes: tuple[int, int]) -> Any:
    """Return the sum of a diagonal of two axes; ``offset`` selects one off the main diagonal."""
    return ops.sum(ops.diagonal(x, offset=offset, axes=axes), axis=-1)


def mvlgamma(ops: Operators, x: Any, *, p: int) -> Any:
    """Return the log-gamma function of p dimensions (NIST DLMF 35.3.4); log(pi) / 2 is computed as lgamma(1 / 2)."""
    total = ops.multiply(ops.lgamma(ops.constant(np.array(0.5))), p * (p - 1) / 2)
    for number in range(p):
        total = ops.add(total, ops.lgamma(ops.subtract(x, number / 2)))
    return total


certified_det, certified_logabsdet, certified_logdet = map(invariant, (det, logabsdet, logdet))
certified_eigvalsh, certified_svdvals = map(invariant, (eigvalsh, svdvals))
certified_inv, certified_pinv = map(inverse, (inv, pinv))
certified_solve, certified_lstsq = map(solution, (solve, lstsq))
solve_vector, certified_solve_vector = map(of_vector, (solve, certified_solve))
