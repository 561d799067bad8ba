"""Operators in addition to the table: copies, conversions of the dtype, and further Bessel functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor
from refgrad.operators import Argument, Attribute, Expression, Operator, Structure

FLOATS = ("float16", "float32", "float64")


def _pass_on(_operators: Any, cotangent: Any, _node: Any) -> tuple[Any]:
    """Return the cotangent unchanged; its dtype is fitted to the argument's as for every contribution."""
    return (cotangent,)


def _row(name: str, summary: str, forward: Callable[[Any, Any], Any]) -> Operator:
    return Operator(name, "conversions", summary, (Argument("x"),), structure=Structure(forward, _pass_on))


def _to(dtype: str) -> Operator:
    return _row(f"to_{dtype}", f"the same values as {dtype}", lambda _system, x: x.astype(dtype))


CONVERSIONS: Mapping[str, Operator] = MappingProxyType({
    "clone": _row("clone", "a copy", lambda _system, x: x.copy()),
    **{f"to_{dtype}": _to(dtype) for dtype in FLOATS},
})


def cast_array(array: Any, dtype: Any) -> Any:
    """Return the array in another dtype."""
    return array.astype(dtype)


def cast_with(functions: Mapping[str, Callable[..., Tensor]]) -> Callable[[Tensor, Any], Tensor]:
    """Return a function that converts tensors; ``functions`` record it if the result can have a gradient."""

    def cast(tensor: Tensor, dtype: Any) -> Tensor:
        name = np.dtype(dtype).name
        return functions[f"to_{name}"](tensor) if name in FLOATS else Tensor(tensor.array.astype(dtype))

    return cast


def _bessel(name: str, summary: str, partial: str) -> Operator:
    called = Expression(f"{name}(n, x)")
    order = Attribute("n", "int")
    partials = {"x": Expression(partial)}
    return Operator(
        name, "bessel", summary, (Argument("x"),), (order,), formula=called, forward=called, partials=partials
    )


# DLMF 10.29.1 and 10.51.2
BESSEL: Mapping[str, Operator] = MappingProxyType({
    "besseli": _bessel("besseli", "modified", "(besseli(n - 1, x) + besseli(n + 1, x)) / 2"),
    "besselie": _bessel(
        "besselie",
        "modified, times e to the -|x|",
        "(besselie(n - 1, x) + besselie(n + 1, x)) / 2 - sign(x) * out",
    ),
    "sphericalj": _bessel(
        "sphericalj",
        "spherical, of the order |n|",
        "(n * sphericalj(n - 1, x) - (n + 1) * sphericalj(n + 1, x)) / (2 * n + 1)",
    ),
})
