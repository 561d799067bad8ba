"""Which functions may a formula call, and what are their derivatives?

Every number system implements these functions by name. Their derivatives are written in the same language; ``out`` is
the function's own value. They are textbook rules (e.g. NIST DLMF 4.20, 4.38, 5.15, 7.10 and 10.29), independent of the
``partials`` of the operator rows, and the tests hold each of them against FLINT's power series.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CONSTANTS = frozenset({"pi"})


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the formula language: its parameters and, parameter by parameter, its derivative.

    ``whole`` are parameters that only take plain integers; they never move, and the operator of the function's name
    has them as attributes.
    """

    parameters: tuple[str, ...]
    derivatives: tuple[str, ...]
    whole: frozenset[str] = frozenset()


def _of_one(derivative: str) -> Function:
    return Function(("x",), (derivative,))


FUNCTIONS: Mapping[str, Function] = MappingProxyType({
    "exp": _of_one("out"),
    "expm1": _of_one("out + 1"),
    "exp2": _of_one("out * log(2)"),
    "log": _of_one("1 / x"),
    "log1p": _of_one("1 / (1 + x)"),
    "log2": _of_one("1 / (x * log(2))"),
    "log10": _of_one("1 / (x * log(10))"),
    "sqrt": _of_one("1 / (2 * out)"),
    "sin": _of_one("cos(x)"),
    "cos": _of_one("-sin(x)"),
    "tan": _of_one("1 + out * out"),
    "arcsin": _of_one("1 / sqrt(1 - x * x)"),
    "arccos": _of_one("-1 / sqrt(1 - x * x)"),
    "arctan": _of_one("1 / (1 + x * x)"),
    "sinh": _of_one("cosh(x)"),
    "cosh": _of_one("sinh(x)"),
    "tanh": _of_one("1 - out * out"),
    "sigmoid": _of_one("out * (1 - out)"),
    "arcsinh": _of_one("1 / sqrt(1 + x * x)"),
    "arccosh": _of_one("1 / sqrt(x * x - 1)"),
    "arctanh": _of_one("1 / (1 - x * x)"),
    # A branch that cannot be decided yields the hull of both sides: at a kink that is the whole subdifferential.
    "abs": _of_one("1 if x > 0 else -1"),
    "sign": _of_one("0"),
    "floor": _of_one("0"),
    "trunc": _of_one("0"),
    "round": _of_one("0"),
    "maximum": Function(("x", "y"), ("1 if x > y else 0", "0 if x > y else 1")),
    "minimum": Function(("x", "y"), ("1 if x < y else 0", "0 if x < y else 1")),
    "arctan2": Function(("y", "x"), ("x / (x * x + y * y)", "-y / (x * x + y * y)")),
    "hypot": Function(("x", "y"), ("x / out", "y / out")),
    "cbrt": _of_one("1 / (3 * out * out)"),
    "erf": _of_one("2 / sqrt(pi) * exp(-x * x)"),
    "erfc": _of_one("-2 / sqrt(pi) * exp(-x * x)"),
    "erfcx": _of_one("2 * x * out - 2 / sqrt(pi)"),
    "erfinv": _of_one("sqrt(pi) / 2 * exp(out * out)"),
    "lgamma": _of_one("digamma(x)"),
    "digamma": _of_one("polygamma(1, x)"),
    "polygamma": Function(("n", "x"), ("0", "polygamma(n + 1, x)"), frozenset({"n"})),
    "i0": _of_one("i1(x)"),
    "i1": _of_one("(i0(x) + besseli(2, x)) / 2"),
    "besseli": Function(("n", "x"), ("0", "(besseli(n - 1, x) + besseli(n + 1, x)) / 2"), frozenset({"n"})),
    "i0e": _of_one("i1e(x) - (out if x > 0 else -out)"),
    "i1e": _of_one("exp(-abs(x)) * (i0(x) + besseli(2, x)) / 2 - (out if x > 0 else -out)"),
})

STEPS = frozenset({"sign", "floor", "trunc", "round"})
"""Functions that are constant between their jumps."""
