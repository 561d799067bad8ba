"""Determinants, inverses and solutions of small matrices, in steps that can be certified.

Matrices have at most three rows (four for a determinant) and the formulas are those of algebra: no pivot is searched,
so no step depends on what the entries are.

Engines factorize, by which every entry takes rounding from the largest ones; the formulas would round small entries
much less, and no engine could be held to that. So the steps that are certified are those in other coordinates: rows and
columns are reflected, in numbers without error, at a plane that keeps no entry apart from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.matrices.contractions import swapped

Grid = list[list[Any]]
Steps = Callable[..., Any]
LARGEST = 3

REFLECTIONS: Mapping[int, tuple[Any, float]] = MappingProxyType({
    1: (((1,),), 1.0),
    2: (((3, 4), (4, -3)), 5.0),
    3: (((1, -2, -2), (-2, 1, -2), (-2, -2, 1)), 3.0),
    4: (((1, -1, -1, -1), (-1, 1, -1, -1), (-1, -1, 1, -1), (-1, -1, -1, 1)), 2.0),
})
"""Symmetric orthogonal matrices of integers, and the number by which all of their entries are to be divided."""


def reflected(ops: Operators, x: Any, *axes: int) -> Any:
    """Multiply by a reflection from the left (axis -2) and from the right (-1).

    Raises ValueError where there is none of that length.
    """
    for axis in axes or (-2, -1):
        if x.shape[axis] not in REFLECTIONS:
            raise ValueError(f"matrices of shape {x.shape} are not written out")
        whole, divisor = REFLECTIONS[x.shape[axis]]
        factor = ops.constant(np.array(whole))
        x = ops.divide(ops.matmul(factor, x) if axis == -2 else ops.matmul(x, factor), divisor)  # noqa: PLR2004 (rows)
    return x


def number(plain: Steps) -> Composite:
    """Return the composite of a function that two reflections do not change."""
    return Composite(lambda ops, x: plain(ops, reflected(ops, x)), plain)


def inverse(plain: Steps) -> Composite:
    """Return the composite of a function that turns the reflections of rows into those of columns and back."""
    return Composite(lambda ops, x: reflected(ops, plain(ops, reflected(ops, x))), plain)


def solution(plain: Steps) -> Composite:
    """Return the composite of a function of a matrix and of right sides, which are reflected as its rows are."""
    return Composite(lambda ops, x, y: reflected(ops, plain(ops, reflected(ops, x), reflected(ops, y, -2)), -2), plain)


def entries(ops: Operators, x: Any, largest: int = LARGEST) -> Grid:
    """Return the entries of each matrix, as arrays over the stack. Raises ValueError for large matrices."""
    rows, columns = x.shape[-2:]
    if not 0 < rows <= largest + 1 or not 0 < columns <= largest + 1 or min(rows, columns) > largest:
        raise ValueError(f"matrices of shape {rows, columns} are not written out")
    before = (slice(None),) * (len(x.shape) - 2)
    return [[ops.index(x, index=(*before, i, j)) for j in range(columns)] for i in range(rows)]


def square(ops: Operators, x: Any, largest: int = LARGEST) -> Grid:
    """Return the entries of square matrices. Raises ValueError for those that are too large."""
    if x.shape[-1] > largest or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrices of shape {x.shape} are not written out")
    return entries(ops, x, largest)


def matrix(ops: Operators, grid: Grid) -> Any:
    """Put entries together to matrices."""
    rows = [ops.stack(*row, axis=-1) for row in grid]
    return ops.stack(*rows, axis=-2)


def total(ops: Operators, terms: list[Any]) -> Any:
    """Sum of one or more terms."""
    result = terms[0]
    for term in terms[1:]:
        result = ops.add(result, term)
    return result


def determinant(ops: Operators, grid: Grid) -> Any:
    """Expansion along the first row (Laplace)."""
    if len(grid) == 1:
        return grid[0][0]
    terms = [ops.multiply(grid[0][j], cofactor(ops, grid, 0, j)) for j in range(len(grid))]
    return total(ops, terms)


def cofactor(ops: Operators, grid: Grid, i: int, j: int) -> Any:
    """The determinant without row i and column j, with the sign of their sum."""
    minor = [row[:j] + row[j + 1 :] for row in grid[:i] + grid[i + 1 :]]
    value = determinant(ops, minor)
    return ops.negative(value) if (i + j) % 2 else value


def det(ops: Operators, x: Any) -> Any:
    """Determinant of each matrix, of two to four rows. Raises ValueError for others."""
    if x.shape[-1] == 1:
        raise ValueError("a single entry is its own determinant")
    return determinant(ops, square(ops, x, LARGEST + 1))


def logabsdet(ops: Operators, x: Any) -> Any:
    """Logarithm of the determinant's size."""
    return ops.log(ops.abs(determinant(ops, square(ops, x))))


def logdet(ops: Operators, x: Any) -> Any:
    """Logarithm of a positive determinant."""
    return ops.log(determinant(ops, square(ops, x)))


def one_like(ops: Operators, x: Any) -> Any:
    """Ones that depend on ``x``, as far as graphs are concerned, with the derivative zero."""
    return ops.add(ops.multiply(x, 0.0), 1.0)


def column(ops: Operators, x: Any) -> Any:
    """Give each entry an axis of its own, behind the others."""
    return ops.reshape(x, shape=(*x.shape, 1))


def adjugate(ops: Operators, grid: Grid) -> Any:
    """Transposed cofactors: the inverse times the determinant."""
    size = len(grid)
    if size == 1:
        return one_like(ops, matrix(ops, grid))
    return matrix(ops, [[cofactor(ops, grid, j, i) for j in range(size)] for i in range(size)])


def over_determinant(ops: Operators, numerator: Any, grid: Grid) -> Any:
    """Divide matrices by determinants."""
    divisor = determinant(ops, grid)
    return ops.divide(numerator, ops.reshape(divisor, shape=(*divisor.shape, 1, 1)))


def inv(ops: Operators, x: Any) -> Any:
    """Inverse of each matrix: the adjugate over the determinant."""
    grid = square(ops, x)
    return over_determinant(ops, adjugate(ops, grid), grid)


def solve(ops: Operators, x: Any, y: Any) -> Any:
    """The matrix that ``x`` carries to ``y``, by Cramer's rule."""
    grid = square(ops, x)
    return over_determinant(ops, ops.matmul(adjugate(ops, grid), y), grid)


def solve_vector(ops: Operators, x: Any, y: Any) -> Any:
    """The vector that ``x`` carries to ``y``, by Cramer's rule."""
    return ops.reshape(solve(ops, x, ops.reshape(y, shape=(*y.shape, 1))), shape=y.shape)


def spread_solve_vector(ops: Operators, x: Any, y: Any) -> Any:
    """The same as :func:`solve_vector`, in reflected coordinates."""
    right = reflected(ops, ops.reshape(y, shape=(*y.shape, 1)), -2)
    return ops.reshape(reflected(ops, solve(ops, reflected(ops, x), right), -2), shape=y.shape)


def solve_triangular(ops: Operators, x: Any, y: Any, *, upper: bool, unitriangular: bool) -> Any:
    """The matrix that a triangle of ``x`` carries to ``y``, by substitution; with ones on its diagonal where asked."""
    grid = square(ops, x)
    size, before = len(grid), (slice(None),) * (len(y.shape) - 2)
    rows: dict[int, Any] = {}
    for i in reversed(range(size)) if upper else range(size):
        row = ops.index(y, index=(*before, i))
        for j, found in rows.items():
            row = ops.subtract(row, ops.multiply(column(ops, grid[i][j]), found))
        rows[i] = ops.divide(row, column(ops, one_like(ops, grid[i][i]) if unitriangular else grid[i][i]))
    return ops.stack(*(rows[i] for i in range(size)), axis=-2)


def matrix_power(ops: Operators, x: Any, *, n: int) -> Any:
    """Product of a matrix with itself, or of its inverse."""
    if not x.shape[-1]:
        raise ValueError("matrices have no entries")
    if n < 0:
        return matrix_power(ops, inv(ops, x), n=-n)
    if n == 0:
        return ops.add(ops.multiply(x, 0.0), ops.constant(np.eye(x.shape[-1])))
    result = x
    for _ in range(n - 1):
        result = ops.matmul(result, x)
    return result


def spread_matrix_power(ops: Operators, x: Any, *, n: int) -> Any:
    """The same as :func:`matrix_power`, that of an inverse in reflected coordinates."""
    return reflected(ops, matrix_power(ops, reflected(ops, x), n=n)) if n < 0 else matrix_power(ops, x, n=n)


def pinv(ops: Operators, x: Any) -> Any:
    """Pseudoinverse of matrices of full rank: (xᵀ x)⁻¹ xᵀ, or that of the transposed matrix, transposed."""
    if x.shape[-1] > x.shape[-2]:
        return swapped(ops, pinv(ops, swapped(ops, x)))
    entries(ops, x)
    return solve(ops, ops.matmul(swapped(ops, x), x), swapped(ops, x))


def lstsq(ops: Operators, x: Any, y: Any) -> Any:
    """Least squares by the normal equations. Raises ValueError where there are more unknowns than equations."""
    if x.shape[-1] > x.shape[-2]:
        raise ValueError("more unknowns than equations")
    entries(ops, x)
    return solve(ops, ops.matmul(swapped(ops, x), x), ops.matmul(swapped(ops, x), y))


def trace(ops: Operators, x: Any, *, offset: int, axes: tuple[int, int]) -> Any:
    """Sum of a diagonal of two axes, or of one beside it."""
    return ops.sum(ops.diagonal(x, offset=offset, axes=axes), axis=-1)


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "det": number(det),
    "logabsdet": number(logabsdet),
    "logdet": number(logdet),
    "inv": inverse(inv),
    "solve": solution(solve),
    "solve_vector": Composite(spread_solve_vector, solve_vector),
    "solve_triangular": Composite(solve_triangular),
    "matrix_power": Composite(spread_matrix_power, matrix_power),
    "pinv": inverse(pinv),
    "lstsq": solution(lstsq),
    "trace": Composite(trace),
})
