"""Running sums, products and extrema along an axis, and differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.composites.axes import statistics
from refgrad.operators.composites.axes.slicing import axis_of, length_along, slices, stretch


def scan(step: str) -> Callable[..., Any]:
    """Return the composite that accumulates the entries along an axis with a binary operator."""

    def scanned(ops: Operators, x: Any, *, axis: int) -> Any:
        parts = list(accumulate(slices(ops, x, axis), getattr(ops, step)))
        return ops.stack(*parts, axis=axis_of(x, axis)) if parts else x

    return scanned


def prefixes(ops: Operators, x: Any, axis: int, reduction: Callable[[Any], Any]) -> Any:
    """Return the reduction of the entries up to each index of an axis, each computed separately."""
    lengths = range(1, length_along(x, axis) + 1)
    parts = [reduction(stretch(ops, x, axis, 0, length)) for length in lengths]
    return ops.stack(*parts, axis=axis_of(x, axis)) if parts else x


def cumprod(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the products of the entries up to each index.

    Each is one ``prod``, for whose derivative the rounding budget allows that engines divide by a factor.
    """
    return prefixes(ops, x, axis, lambda part: ops.prod(part, axis=axis))


def logcumsumexp(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return the logarithms of the sums of exponentials up to each index."""
    return prefixes(ops, x, axis, lambda part: statistics.logsumexp(ops, part, axis=axis, keepdims=False))


def shifted_logcumsumexp(ops: Operators, x: Any, *, axis: int) -> Any:
    """Return :func:`logcumsumexp`, with the largest entry up to each index subtracted before and added after."""
    return prefixes(ops, x, axis, lambda part: statistics.shifted_logsumexp(ops, part, axis=axis, keepdims=False))


def diff(ops: Operators, x: Any, *, n: int, axis: int) -> Any:
    """Return the ``n``-th differences of neighbours along an axis; an axis with too few entries becomes empty."""
    for _ in range(n):
        length = length_along(x, axis)
        x = ops.subtract(stretch(ops, x, axis, 1, length), stretch(ops, x, axis, 0, max(length - 1, 0)))
    return x


def trapezoid(ops: Operators, y: Any, x: Any, *, axis: int) -> Any:
    """Return the integral of ``y`` over ``x`` by the trapezoidal rule.

    Raises ValueError for an axis without entries. NumPy and PyTorch return zeros there, but PyTorch does not record
    them in the graph.
    """
    length = length_along(y, axis)
    if length == 0:
        raise ValueError("there is no integral over no points")
    heights = ops.add(stretch(ops, y, axis, 1, length), stretch(ops, y, axis, 0, length - 1))
    return ops.sum(ops.divide(ops.multiply(diff(ops, x, n=1, axis=axis), heights), 2.0), axis=axis)


COMPOSITES: Mapping[str, Composite] = MappingProxyType({
    "cumsum": Composite(scan("add")),
    "cumprod": Composite(cumprod),
    "cummax": Composite(scan("maximum")),
    "cummin": Composite(scan("minimum")),
    "logcumsumexp": Composite(logcumsumexp, shifted_logcumsumexp),
    "diff": Composite(diff),
    "trapezoid": Composite(trapezoid),
})
