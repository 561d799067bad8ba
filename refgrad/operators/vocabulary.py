"""Which functions may a formula call, and what are their derivatives?

Every number system implements these functions by name. Their derivatives are written in the same language; ``out`` is
the function's own value. They are textbook rules (e.g. NIST DLMF 4.20 and 4.38), independent of the ``partials`` of the
operator rows, and the tests hold each of them against FLINT's power series.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CONSTANTS = frozenset({"pi"})


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the formula language: its parameters and, parameter by parameter, its derivative."""

    parameters: tuple[str, ...]
    derivatives: tuple[str, ...]


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
    "arcsinh": _of_one("1 / sqrt(1 + x * x)"),
    "arccosh": _of_one("1 / sqrt(x * x - 1)"),
    "arctanh": _of_one("1 / (1 - x * x)"),
    # A branch that cannot be decided yields the hull of both sides: at a kink that is the whole subdifferential.
    "abs": _of_one("1 if x > 0 else -1"),
    "sign": _of_one("0"),
    "floor": _of_one("0"),
    "maximum": Function(("x", "y"), ("1 if x > y else 0", "0 if x > y else 1")),
    "minimum": Function(("x", "y"), ("1 if x < y else 0", "0 if x < y else 1")),
    "arctan2": Function(("y", "x"), ("x / (x * x + y * y)", "-y / (x * x + y * y)")),
    "hypot": Function(("x", "y"), ("x / out", "y / out")),
})
