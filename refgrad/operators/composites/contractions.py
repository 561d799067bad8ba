"""Products summed over shared axes: inner and outer products, einsum, chains of matrices, distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from refgrad.operators.operator import Operators, require
from refgrad.operators.structures import swapped


def reordered(ops: Operators, x: Any, axes: Sequence[int]) -> Any:
    """Permute the axes, unless they are already in that order."""
    return x if list(axes) == list(range(len(x.shape))) else ops.transpose(x, axes=tuple(axes))


def einsum(ops: Operators, *arrays: Any, subscripts: str) -> Any:
    """Return the Einstein summation as ``numpy.einsum`` defines it, with repeated letters and an implicit output.

    Raises ValueError if the letters do not fit the shapes.
    """
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if not arrow:
        output = "".join(letter for letter in sorted(set(inputs) - {","}) if inputs.count(letter) == 1)
    _check(terms, arrays)
    reduced = [_diagonal(ops, term, x) for term, x in zip(terms, arrays, strict=True)]
    order = output + "".join(sorted(set(inputs) - {","} - set(output)))
    product = None
    for letters, x in reduced:
        factor = _spread(ops, letters, x, order)
        product = factor if product is None else ops.multiply(product, factor)
    summed = tuple(range(len(output), len(order)))
    return ops.sum(product, axis=summed) if summed else product


einsum_of_one = einsum_of_three = einsum


def _check(terms: Sequence[str], arrays: Sequence[Any]) -> None:
    lengths: dict[str, int] = {}
    for term, x in zip(terms, arrays, strict=True):
        for letter, length in zip(term, x.shape, strict=True):
            known = lengths.setdefault(letter, length)
            require(known == length, f"{letter!r} stands for {known} and for {length}")


def _diagonal(ops: Operators, term: str, x: Any) -> tuple[str, Any]:
    """Return the diagonal over the axes of each repeated letter, and the term with every letter once."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            rest = [axis for axis in range(len(term)) if axis not in {first, second}]
            indices = tuple(range(x.shape[first]))
            x = ops.index(reordered(ops, x, (first, second, *rest)), index=(indices, indices))
            term = letter + "".join(term[axis] for axis in rest)
    return term, x


def _spread(ops: Operators, letters: str, x: Any, order: str) -> Any:
    """Return the array with an axis for every letter of ``order``, of length one for letters that it lacks."""
    kept = [letter for letter in order if letter in letters]
    x = reordered(ops, x, [letters.index(letter) for letter in kept])
    lengths = dict(zip(kept, x.shape, strict=True))
    shape = tuple(lengths.get(letter, 1) for letter in order)
    return x if shape == x.shape else ops.reshape(x, shape=shape)


def dot(ops: Operators, x: Any, y: Any) -> Any:
    """Sum over the last axis of ``x`` and the second-to-last of ``y`` (the only one if it is a vector)."""
    contracted_axis = max(len(y.shape) - 2, 0)
    before, after = y.shape[:contracted_axis], y.shape[contracted_axis + 1 :]
    inner = y.shape[contracted_axis]
    rest = [axis for axis in range(len(y.shape)) if axis != contracted_axis]
    columns = ops.reshape(reordered(ops, y, (contracted_axis, *rest)), shape=(inner, math.prod((*before, *after))))
    return ops.reshape(ops.matmul(x, columns), shape=(*x.shape[:-1], *before, *after))


def vecdot(ops: Operators, x: Any, y: Any, *, axis: int) -> Any:
    """Return the sum of the products along an axis."""
    return ops.sum(ops.multiply(x, y), axis=axis)


def inner(ops: Operators, x: Any, y: Any) -> Any:
    """Return the inner products of the rows of ``x`` (n, k) with the rows of ``y`` (m, k)."""
    return ops.matmul(x, swapped(ops, y))


def outer(ops: Operators, x: Any, y: Any) -> Any:
    """Return every entry of ``x`` times every entry of ``y``."""
    return ops.multiply(ops.expand_dims(x, axis=1), y)


def tensordot(ops: Operators, x: Any, y: Any, *, axes: int) -> Any:
    """Sum over the last ``axes`` axes of ``x`` and the first of ``y``."""
    shared, last = y.shape[:axes], y.shape[axes:]
    first = x.shape[: len(x.shape) - axes]
    require(x.shape[len(first) :] == shared, f"the last axes of {x.shape} are not the first {axes} of {y.shape}")
    rows = ops.reshape(x, shape=(math.prod(first), math.prod(shared)))
    columns = ops.reshape(y, shape=(math.prod(shared), math.prod(last)))
    return ops.reshape(ops.matmul(rows, columns), shape=(*first, *last))


def kron(ops: Operators, x: Any, y: Any) -> Any:
    """Return the Kronecker product: a block of ``y`` for each entry of ``x``, scaled by it."""
    (a, b), (c, d) = x.shape, y.shape
    blocks = ops.multiply(ops.reshape(x, shape=(a, 1, b, 1)), ops.reshape(y, shape=(c, 1, d)))
    return ops.reshape(blocks, shape=(a * c, b * d))


def cross(ops: Operators, x: Any, y: Any, *, axis: int) -> Any:
    """Return the cross product along an axis of length three."""
    require(x.shape[axis] == 3, f"axis {axis} of {x.shape} has not the length 3")  # noqa: PLR2004 (vectors of space)
    forth, back = (1, 2, 0), (2, 0, 1)
    positive = ops.multiply(ops.take(x, axis=axis, indices=forth), ops.take(y, axis=axis, indices=back))
    negative = ops.multiply(ops.take(x, axis=axis, indices=back), ops.take(y, axis=axis, indices=forth))
    return ops.subtract(positive, negative)


def multi_dot(ops: Operators, first: Any, *rest: Any) -> Any:
    """Return the product of matrices, multiplied from the left."""
    for matrix in rest:
        first = ops.matmul(first, matrix)
    return first


matvec = bmm = multi_dot


def scaled_sum(ops: Operators, z: Any, product: Any, *, beta: float, alpha: float) -> Any:
    """Return ``beta`` times ``z``, plus ``alpha`` times the product."""
    return ops.add(ops.multiply(z, beta), ops.multiply(product, alpha))


def addmm(ops: Operators, z: Any, x: Any, y: Any, **scales: float) -> Any:
    """Return ``beta`` times ``z``, plus ``alpha`` times the matrix product of ``x`` and ``y``."""
    return scaled_sum(ops, z, ops.matmul(x, y), **scales)


addmv = baddbmm = addmm


def addr(ops: Operators, z: Any, x: Any, y: Any, **scales: float) -> Any:
    """Return ``beta`` times ``z``, plus ``alpha`` times the outer product of ``x`` and ``y``."""
    return scaled_sum(ops, z, outer(ops, x, y), **scales)


def addbmm(ops: Operators, z: Any, x: Any, y: Any, **scales: float) -> Any:
    """Return ``beta`` times ``z``, plus ``alpha`` times the sum of the matrix products of a stack."""
    return scaled_sum(ops, z, ops.sum(ops.matmul(x, y), axis=0), **scales)


def linear(ops: Operators, x: Any, weight: Any, bias: Any) -> Any:
    """Return ``x`` times the transposed weight, plus the bias."""
    return ops.add(ops.matmul(x, swapped(ops, weight)), bias)


def bilinear(ops: Operators, x: Any, y: Any, weight: Any, bias: Any) -> Any:
    """Return xᵀ W y for each matrix W of the weight, plus the bias. Raises ValueError for a weight without entries."""
    require(0 not in weight.shape, "the forms have no entries")
    return ops.add(einsum(ops, x, weight, y, subscripts="ni,oij,nj->no"), bias)


def vander(ops: Operators, x: Any, *, columns: int, increasing: bool) -> Any:
    """Return the powers 0 to ``columns`` - 1 of each entry, the highest first unless ``increasing``."""
    powers = [ops.add(ops.multiply(x, 0.0), 1.0)]
    while len(powers) < columns:
        powers.append(ops.multiply(powers[-1], x))
    return ops.stack(*(powers if increasing else powers[::-1]), axis=1)


def lengths(ops: Operators, differences: Any, p: float) -> Any:
    """Return the norms of order ``p`` of vectors along the last axis."""
    if p == 2:  # noqa: PLR2004 (the Euclidean norm)
        return ops.sqrt(ops.sum(ops.square(differences), axis=-1))
    sizes = ops.abs(differences)
    if p == 1:
        return ops.sum(sizes, axis=-1)
    if p == math.inf:
        return ops.max(sizes, axis=-1)
    return ops.power(ops.sum(ops.power(sizes, p), axis=-1), 1 / p)


def cdist(ops: Operators, x: Any, y: Any, *, p: float) -> Any:
    """Return the distances between the rows of ``x`` and the rows of ``y``, for each pair of matrices."""
    require(x.shape[-1] > 0, "points have no coordinates")
    rows, rank = ops.expand_dims(x, axis=len(x.shape) - 1), len(y.shape)
    return lengths(ops, ops.subtract(rows, ops.expand_dims(y, axis=rank - 2)), p)


def pairwise_distance(ops: Operators, x: Any, y: Any, *, p: float, eps: float) -> Any:
    """Return the norm of x - y + eps along the last axis."""
    require(x.shape[-1] > 0, "points have no coordinates")
    return lengths(ops, ops.add(ops.subtract(x, y), eps), p)
