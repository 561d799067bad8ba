"""Operators beside those of the table: modified Bessel functions of any order, which rules of the table call."""

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


# DLMF 10.29.1
BESSEL: Mapping[str, Operator] = MappingProxyType({
    "besseli": _row("besseli", "of the first kind", "(besseli(n - 1, x) + besseli(n + 1, x)) / 2"),
    "besselie": _row(
        "besselie",
        "of the first kind, times e to the -|x|",
        "(besselie(n - 1, x) + besselie(n + 1, x)) / 2 - sign(x) * out",
    ),
})
