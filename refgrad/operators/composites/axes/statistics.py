"""Statistics along axes: variances, norms and covariances."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from types import MappingProxyType
from typing import Any

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.axes.slicing import gathered, slices
from refgrad.operators.structures.reductions import Axes, kept_shape, size_along


def centred(ops: Operators, x: Any, axis: Axes) -> Any:
    """Return ``x`` minus its mean along the axes."""
    return ops.subtract(x, ops.mean(x, axis=axis, keepdims=True))


def freedom(x: Any, axis: Axes, correction: int) -> int:
    """Return the divisor of a variance. Raises ValueError if it is not positive."""
    count = size_along(x.shape, axis)
    if count <= correction:
        raise ValueError(f"the variance of {count} entries is not defined with a correction {correction}")
    return count - correction


def var(ops: Operators, x: Any, *, axis: Axes, correction: int, keepdims: bool) -> Any:
    """Return the sum of squared deviations from the mean, divided by their number minus ``correction``."""
    squares = ops.square(centred(ops, x, axis))
    return ops.divide(ops.sum(squares, axis=axis, keepdims=keepdims), freedom(x, axis, correction))


def std(ops: Operators, x: Any, *, axis: Axes, correction: int, keepdims: bool) -> Any:
    """Return the square root of the variance, by the norm of the deviations, which has a kink where all are 0."""
    length = l2_norm(ops, centred(ops, x, axis), axis=axis, keepdims=keepdims)
    return ops.divide(length, sqrt(freedom(x, axis, correction)))


def logsumexp(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the logarithm of the sum of exponentials."""
    return ops.log(ops.sum(ops.exp(x), axis=axis, keepdims=keepdims))


def shifted_logsumexp(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return :func:`logsumexp`, with the largest entry subtracted before and added after."""
    largest = ops.max(x, axis=axis, keepdims=True)
    rest = ops.log(ops.sum(ops.exp(ops.subtract(x, largest)), axis=axis, keepdims=True))
    total = ops.add(rest, largest)
    return total if keepdims else ops.reshape(total, shape=ops.sum(x, axis=axis).shape)


def l1_norm(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the sum of absolute values."""
    return ops.sum(ops.abs(x), axis=axis, keepdims=keepdims)


def l2_norm(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the Euclidean norm, accumulated over the coordinates by ``hypot``; 0 without coordinates."""
    flat = gathered(ops, x, axis)
    if flat.shape[-1] == 0:
        length = ops.sum(flat, axis=-1)
    else:
        first, *others = slices(ops, flat, -1)
        length = ops.abs(first) if not others else first
        for other in others:
            length = ops.hypot(length, other)
    return ops.reshape(length, shape=kept_shape(x.shape, axis)) if keepdims else length


def max_norm(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the largest absolute value."""
    return ops.max(ops.abs(x), axis=axis, keepdims=keepdims)


def vector_norm(ops: Operators, x: Any, *, order: float, axis: Axes, keepdims: bool) -> Any:
    """Return the ``order``-th root of the sum of absolute values to the power ``order``."""
    total = ops.sum(ops.power(ops.abs(x), order), axis=axis, keepdims=keepdims)
    return ops.power(total, 1 / order)


def ptp(ops: Operators, x: Any, *, axis: Axes, keepdims: bool) -> Any:
    """Return the largest entry minus the smallest."""
    return ops.subtract(ops.max(x, axis=axis, keepdims=keepdims), ops.min(x, axis=axis, keepdims=keepdims))


def average(ops: Operators, x: Any, weights: Any, *, axis: Axes) -> Any:
    """Return the weighted mean, with weights divided by their sum."""
    return ops.divide(ops.sum(ops.multiply(x, weights), axis=axis), ops.sum(weights, axis=axis))


def cov(ops: Operators, x: Any, *, correction: int) -> Any:
    """Return the covariances of the rows of a matrix, whose columns are observations; a scalar for one row."""
    deviations = centred(ops, x, 1)
    products = ops.matmul(deviations, ops.transpose(deviations))
    return ops.divide(ops.reshape(products, shape=_squared(x)), freedom(x, 1, correction))


def _squared(x: Any) -> tuple[int, ...]:
    return () if x.shape[0] == 1 else (x.shape[0], x.shape[0])


def corrcoef(ops: Operators, x: Any) -> Any:
    """Return the correlations of the rows of a matrix: covariances divided by both standard deviations."""
    count = x.shape[0]
    indices = tuple(range(count))
    covariances = ops.reshape(cov(ops, x, correction=1), shape=(count, count))
    deviations = ops.sqrt(ops.index(covariances, index=(indices, indices)))
    rows = ops.divide(covariances, ops.reshape(deviations, shape=(count, 1)))
    return ops.reshape(ops.divide(rows, deviations), shape=_squared(x))


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "var": Composite(var),
    "std": Composite(std),
    "logsumexp": Composite(logsumexp, shifted_logsumexp),
    "l1_norm": Composite(l1_norm),
    "l2_norm": Composite(l2_norm),
    "max_norm": Composite(max_norm),
    "vector_norm": Composite(vector_norm),
    "ptp": Composite(ptp),
    "average": Composite(average),
    "cov": Composite(cov),
    "corrcoef": Composite(corrcoef),
})
