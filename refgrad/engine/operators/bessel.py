"""Operators in addition to the table: Bessel functions of any order, which the table's partial derivatives call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from refgrad.operators import Argument, Attribute, Expression, Operator


def _row(name: str, summary: str, partial: str) -> Operator:
    called = Expression(f"{name}(n, x)")
    order = Attribute("n", "int")
    partials = {"x": Expression(partial)}
    return Operator(
        name, "bessel", summary, (Argument("x"),), (order,), formula=called, forward=called, partials=partials
    )


# DLMF 10.29.1 and 10.51.2
BESSEL: Mapping[str, Operator] = MappingProxyType({
    "besseli": _row("besseli", "modified", "(besseli(n - 1, x) + besseli(n + 1, x)) / 2"),
    "besselie": _row(
        "besselie",
        "modified, times e to the -|x|",
        "(besselie(n - 1, x) + besselie(n + 1, x)) / 2 - sign(x) * out",
    ),
    "sphericalj": _row(
        "sphericalj",
        "spherical, of the order |n|",
        "(n * sphericalj(n - 1, x) - (n + 1) * sphericalj(n + 1, x)) / (2 * n + 1)",
    ),
})
