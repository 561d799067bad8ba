"""A library that has matrices alone, for the tests of engines without other arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Matrix:
    """A matrix, what it was computed from, and how a cotangent is pulled back to that."""

    def __init__(
        self, array: Array, parents: Sequence[Matrix] = (), rule: Callable[[Array], Sequence[Array]] | None = None
    ) -> None:
        if array.ndim != 2:
            raise ValueError("only matrices")
        self.array, self.parents, self.rule = array, parents, rule


def matrix(array: Array) -> Matrix:
    """Return a matrix of an array of two axes, or of none."""
    if array.ndim not in (0, 2):
        raise NotImplementedError(f"{array.ndim} axes")
    return Matrix(array if array.ndim else array.reshape(1, 1))


def add(x: Matrix, y: Matrix) -> Matrix:
    """Return the sum, of stretched operands if one has a length of 1."""
    return Matrix(x.array + y.array, (x, y), lambda g: (_like(g, x), _like(g, y)))


def multiply(x: Matrix, y: Matrix) -> Matrix:
    """Return the product, entry by entry."""
    return Matrix(x.array * y.array, (x, y), lambda g: (_like(g * y.array, x), _like(g * x.array, y)))


def product(x: Matrix, y: Matrix) -> Matrix:
    """Return the product of matrices."""
    return Matrix(x.array @ y.array, (x, y), lambda g: (g @ y.array.T, x.array.T @ g))


def total(x: Matrix, axis: object) -> Matrix:
    """Return the sum of all entries, as a matrix of one."""
    if axis is not None:
        raise NotImplementedError("sums along an axis")
    return Matrix(x.array.sum(keepdims=True), (x,), lambda g: (np.broadcast_to(g, x.array.shape),))


def vjp(function: Callable[..., Matrix], primals: Sequence[Matrix]) -> tuple[Matrix, Callable[[Matrix], list[Matrix]]]:
    """Return the output of a function, and its pullback."""
    output = function(*primals)

    def pullback(seed: Matrix) -> list[Matrix]:
        found = {output: seed.array}
        for node in reversed(_ordered(output)):
            cotangents = node.rule(found[node]) if node.rule and node in found else ()
            for parent, cotangent in zip(node.parents, cotangents, strict=False):
                found[parent] = found.get(parent, 0) + cotangent
        return [Matrix(found.get(x, np.zeros_like(x.array))) for x in primals]

    return output, pullback


def _like(cotangent: Array, x: Matrix) -> Array:
    axes = tuple(axis for axis in (0, 1) if x.array.shape[axis] == 1)
    summed: Array = cotangent.sum(axes, keepdims=True)
    return summed


def _ordered(output: Matrix) -> list[Matrix]:
    ordered: dict[Matrix, None] = {}
    waiting = [(output, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            ordered[node] = None
        elif node not in ordered:
            waiting += [(node, True), *((parent, False) for parent in node.parents)]
    return list(ordered)
