"""Functions that formulas may call: parameters, derivatives, domain, definition, nature, and values on floats.

A derivative is a formula of the same language; ``out`` is the value of the function. The derivatives are textbook rules
(e.g. NIST DLMF 4.20, 4.38, 5.15, 7.10 and 10.29), independent of the ``partials`` of the operator rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

CONSTANTS = frozenset({"pi"})

Nature = Literal["analytic", "kinked", "stepped"]
"""Smoothness: analytic in the domain but for isolated points, made of analytic pieces, or constant between jumps."""


@dataclass(frozen=True, slots=True)
class FormulaFunction:
    """A function of the formula language: its parameters and, parameter by parameter, its derivative.

    ``domain`` is where formulas may call it; the derivatives hold in its interior. ``definition`` is a formula over the
    rows above, for every number system that has no better implementation. ``integers`` are parameters that take only
    plain integers; they are constant, and the operator of the function's name has them as attributes.
    """

    parameters: tuple[str, ...]
    derivatives: tuple[str, ...]
    domain: str = "True"
    definition: str | None = None
    nature: Nature = "analytic"
    integers: frozenset[str] = frozenset()


def _of_one(derivative: str, definition: str | None = None, **others: Any) -> FormulaFunction:
    return FormulaFunction(("x",), (derivative,), definition=definition, **others)


def _of_two(derivatives: tuple[str, str], definition: str, **others: Any) -> FormulaFunction:
    return FormulaFunction(("x", "y"), derivatives, definition=definition, **others)


def _of_order(derivative: str, definition: str | None = None, **others: Any) -> FormulaFunction:
    """Return a function of an integer order and a number ``x``, with the given derivative with respect to ``x``."""
    integers = frozenset({"n"})
    return FormulaFunction(("n", "x"), ("0", derivative), definition=definition, integers=integers, **others)


FUNCTIONS: Mapping[str, FormulaFunction] = MappingProxyType({
    "exp": _of_one("out"),
    "log": _of_one("1 / x", domain="x > 0"),
    "expm1": _of_one("out + 1", "exp(x) - 1"),
    "exp2": _of_one("out * log(2)", "exp(x * log(2))"),
    "log1p": _of_one("1 / (1 + x)", "log(1 + x)", domain="x > -1"),
    "log2": _of_one("1 / (x * log(2))", "log(x) / log(2)", domain="x > 0"),
    "log10": _of_one("1 / (x * log(10))", "log(x) / log(10)", domain="x > 0"),
    "sqrt": _of_one("1 / (2 * out)", domain="x >= 0"),
    "sin": _of_one("cos(x)"),
    "cos": _of_one("-sin(x)"),
    "tan": _of_one("1 + out * out"),
    "arcsin": _of_one("1 / sqrt(1 - x * x)", domain="x >= -1 and x <= 1"),
    "arccos": _of_one("-1 / sqrt(1 - x * x)", domain="x >= -1 and x <= 1"),
    "arctan": _of_one("1 / (1 + x * x)"),
    "sinh": _of_one("cosh(x)"),
    "cosh": _of_one("sinh(x)"),
    "tanh": _of_one("1 - out * out"),
    "sigmoid": _of_one("out * (1 - out)", "1 / (1 + exp(-x))"),
    "arcsinh": _of_one("1 / sqrt(1 + x * x)"),
    "arccosh": _of_one("1 / sqrt(x * x - 1)", domain="x >= 1"),
    "arctanh": _of_one("1 / (1 - x * x)", domain="x > -1 and x < 1"),
    # An undecided branch yields the hull of both sides: at a kink that is the whole subdifferential.
    "abs": _of_one("1 if x > 0 else -1", "x if x > 0 else -x", nature="kinked"),
    "sign": _of_one("0", "1 if x > 0 else -1 if x < 0 else 0", nature="stepped"),
    "floor": _of_one("0", nature="stepped"),
    "trunc": _of_one("0", "floor(x) if x > 0 else -floor(-x)", nature="stepped"),
    # Ties go to the even integer (IEEE 754-2019, roundToIntegralTiesToEven).
    "round": _of_one("0", nature="stepped"),
    "maximum": _of_two(("1 if x > y else 0", "0 if x > y else 1"), "x if x > y else y", nature="kinked"),
    "minimum": _of_two(("1 if x < y else 0", "0 if x < y else 1"), "x if x < y else y", nature="kinked"),
    "arctan2": FormulaFunction(("y", "x"), ("x / (x * x + y * y)", "-y / (x * x + y * y)"), "y != 0 or x > 0"),
    "hypot": _of_two(("x / out", "y / out"), "sqrt(x * x + y * y)"),
    "cbrt": _of_one("1 / (3 * out * out)"),
    "erf": _of_one("2 / sqrt(pi) * exp(-x * x)"),
    "erfc": _of_one("-2 / sqrt(pi) * exp(-x * x)"),
    "erfcx": _of_one("2 * x * out - 2 / sqrt(pi)", "exp(x * x) * erfc(x)"),
    "erfinv": _of_one("sqrt(pi) / 2 * exp(out * out)", domain="x > -1 and x < 1"),
    "lgamma": _of_one("digamma(x)", domain="x > 0"),
    "polygamma": _of_order("polygamma(n + 1, x)", domain="x > 0"),
    "digamma": _of_one("polygamma(1, x)", "polygamma(0, x)", domain="x > 0"),
    "besseli": _of_order("(besseli(n - 1, x) + besseli(n + 1, x)) / 2"),
    # The order is |n|; DLMF 10.51.2
    "sphericalj": _of_order("(n * sphericalj(n - 1, x) - (n + 1) * sphericalj(n + 1, x)) / (2 * n + 1)"),
    "i0": _of_one("i1(x)", "besseli(0, x)"),
    "i1": _of_one("(i0(x) + besseli(2, x)) / 2", "besseli(1, x)"),
    "i0e": _of_one("i1e(x) - (out if x > 0 else -out)", "i0(x) * exp(-abs(x))", nature="kinked"),
    "besselie": _of_order(
        "(besselie(n - 1, x) + besselie(n + 1, x)) / 2 - (out if x > 0 else -out)",
        "besseli(n, x) * exp(-abs(x))",
        nature="kinked",
    ),
    "i1e": _of_one("(i0e(x) + besselie(2, x)) / 2 - (out if x > 0 else -out)", "i1(x) * exp(-abs(x))", nature="kinked"),
})
"""The rows. A definition calls only functions of rows above it."""

PYTHON_FLOATS: Mapping[str, Any] = MappingProxyType(
    {name: getattr(math, name) for name, row in FUNCTIONS.items() if row.nature == "analytic" and hasattr(math, name)}
    | {"pi": math.pi}
)
"""The column of Python floats. Functions that are not in it are evaluated with the rest of the formula."""
